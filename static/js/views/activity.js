/** activity.js - what a research has looked up, and what it found. */
import { t } from '../i18n.js';
import { html, useApp } from '../html.js';
import { headingOf } from '../words.js';

/** The argument that says most: what was searched for, or read.
 *  @param {import('../types.js').ToolCall} call */
function subject(call) {
    let all = call.arguments;
    if (typeof all === 'string') {
        try {
            all = JSON.parse(all);
        } catch {
            return '';
        }
    }
    const texts = Object.values(all ?? {})
        .filter((v) => typeof v === 'string' || typeof v === 'number');
    return texts.length > 0 ? String(texts[0]) : '';
}

/** The newest first: that is what one looks for while it runs.
 *  @param {{ id: string, open: boolean }} props */
export function Activity({ id, open }) {
    const { store } = useApp();
    const calls = store.details.get(id)?.calls ?? [];
    return html`<details class="part" open=${open}>
        <summary>${t('activity')} <span class="count">${calls.length}</span>
        </summary>
        ${calls.length === 0 && html`<p class="quiet">
            ${t('activity.none')}</p>`}
        <ol class="calls" reversed tabindex="0"
            aria-label=${t('activity')}>${[...calls].reverse().map(
            ({ value: c }) => html`
            <li key=${c.id} class=${`call ${c.state}`}>
                <span class="call-name">${t(`tool.${c.name}`) === `tool.${c.name}`
                    ? c.name : t(`tool.${c.name}`)}</span>
                <span class="call-subject" dir="auto">${subject(c)}</span>
                <span class="quiet call-result" dir="auto">${c.error
                    || c.summary || t(`call.${c.state}`)}</span>
            </li>`)}</ol>
    </details>`;
}

/** @param {{ id: string, open: boolean }} props */
export function Sources({ id, open }) {
    const { store } = useApp();
    const sources = [...store.details.get(id)?.sources ?? []]
        .map((e) => e.value).sort((a, b) => a.n - b.n);
    return html`<details class="part" open=${open}>
        <summary>${t('sources')} <span class="count">${sources.length}</span>
        </summary>
        ${sources.length === 0 && html`<p class="quiet">
            ${t('sources.none')}</p>`}
        <ol class="sources" tabindex="0"
            aria-label=${t('sources')}>${sources.map((s) => html`
            <li key=${s.id}><span class="number">${s.n}</span>
                <span class="source-text"><span dir="auto">${s.title}</span>
                <span class="quiet" dir="auto">${headingOf(s)}</span>
                </span></li>`)}
        </ol>
    </details>`;
}
