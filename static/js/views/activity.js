/** activity.js - what a research has looked up, and what it found. */
import { t } from '../i18n.js';
import { html, useApp } from '../html.js';
import { headingOf, subjectOf, toolWords } from '../words.js';
import { passageEvents } from './passage.js';

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
                <span class="call-name">${toolWords(c.name)}</span>
                <span class="call-subject" dir="auto">${
                    subjectOf(c)}</span>
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
        <ol class="sources" tabindex="0" aria-label=${t('sources')}
            ...${passageEvents(id)}>${sources.map((s) => html`
            <li key=${s.id}><span role="button" tabindex="0" class="number cite"
                aria-label=${`${t('source')} ${s.n}`}
                data-n=${s.n}>${s.n}</span>
                <span class="source-text"><span dir="auto">${s.title}</span>
                <span class="quiet" dir="auto">${headingOf(s)}</span>
                </span></li>`)}
        </ol>
    </details>`;
}
