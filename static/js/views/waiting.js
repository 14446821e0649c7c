/** waiting.js - that something is on its way, and when that takes too long. */
import { t } from '../i18n.js';
import { html } from '../html.js';
import { waiting } from '../waiting.js';

/** @param {{ place: string, word?: string, slow?: string }} props  keys of what
 *     is said at once, and after a while */
export function Waiting({ place, word, slow = 'wait.slow' }) {
    const key = waiting.value[place] === 'slow' ? slow
        : waiting.value[place] && word;
    return html`<span class="waiting quiet" role="status">${key ? t(key) : ''}
    </span>`;
}
