/** outcome.js - what became of things: receipts, coverage, the report's files. */
import { reportUrl } from '../api.js';
import { t, when } from '../i18n.js';
import { Icon, html, useApp } from '../html.js';
import { receiptWords, titleOf } from '../words.js';

/** @type {Record<string, string>} */
const HANDOFF_ICONS = { received: 'clock', handed: 'handed', not_applied: 'cross' };

/**
 * @param {{ id: string, link?: boolean, quote?: boolean }} props  with `link`
 *     the research is named, with `quote` the message
 */
export function Receipt({ id, link, quote }) {
    const { store, actions } = useApp();
    const handoff = store.handoffs.get(id)?.value;
    if (!handoff) {
        return null;
    }
    const run = store.run(handoff.run_id);
    const body = store.messages.get(handoff.message_id)?.value.body ?? '';
    const at = handoff.handed_at ?? handoff.created_at;
    return html`
        <li class=${`receipt ${handoff.state}`} data-handoff=${id}>
            ${quote && html`<q class="receipt-quote" dir="auto">${body}</q>`}
            <span class="receipt-line">
                <${Icon} name=${HANDOFF_ICONS[handoff.state] ?? 'clock'} />
                <span class="receipt-words">${receiptWords(handoff)}</span>
                ${link && html`<button type="button" class="link" dir="auto"
                    onClick=${() => actions.openRun(handoff.run_id)}>
                    ${run ? titleOf(run) : t('receipt.show')}</button>`}
                <time class="quiet" dateTime=${new Date(at).toISOString()}>
                    ${when(at)}</time>
            </span>
        </li>`;
}

/** @param {{ id: string }} props */
export function Downloads({ id }) {
    return html`<p class="downloads"><${Icon} name="file" />
        <span>${t('report.save')}</span>
        <a href=${reportUrl(id, 'md')} download>Markdown</a>
        <a href=${reportUrl(id, 'html')} download>HTML</a></p>`;
}

/** @type {Record<string, string>} */
const COVERAGE_ICONS = { covered: 'check', partial: 'half', not_covered: 'cross' };

/** The request and each adjustment, and how far the report covers it.
 *  @param {{ run: import('../types.js').Run }} props */
export function CoverageList({ run }) {
    if (!run.coverage?.length) {
        return null;
    }
    return html`<section class="part">
        <h4>${t('coverage')}</h4>
        <ul class="coverage">
            ${run.coverage.map((c) => html`<li class=${c.status}>
                <${Icon} name=${COVERAGE_ICONS[c.status]} />
                <div><p class="coverage-what" dir="auto">
                    <${Requirement} run=${run} item=${c} /></p>
                <p class="quiet" dir="auto">${t(`coverage.${c.status}`)}${
                    c.note ? ` – ${c.note}` : ''}</p></div></li>`)}
        </ul></section>`;
}

/** What was asked, in the person's own words.
 *  @param {{ run: import('../types.js').Run,
 *            item: import('../types.js').Coverage }} props */
function Requirement({ run, item }) {
    const { store } = useApp();
    return store.messages.get(item.id ?? '')?.value.body
        ?? t(`coverage.${item.source}`);
}
