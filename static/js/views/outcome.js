/** outcome.js - what became of things: receipts, coverage, the report's files. */
import { reportUrl } from '../api.js';
import { t, when } from '../i18n.js';
import { Icon, html, useApp } from '../html.js';
import { receiptWords, titleOf } from '../words.js';
import { passageEvents } from './passage.js';

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

/** @typedef {{ run: import('../types.js').Run }} OfRun */
/** @typedef {OfRun & { item: import('../types.js').Coverage }} OfItem */

/** The request and each adjustment, and how far the report covers it.
 *  @param {OfRun} props */
export function CoverageList({ run }) {
    if (!run.coverage?.length) {
        return null;
    }
    return html`<section class="part">
        <h4>${t('coverage')}</h4>
        <ul class="coverage" ...${passageEvents(run.id)}>
            ${run.coverage.map((c) => html`<${Item} run=${run} item=${c} />`)}
        </ul></section>`;
}

/** What the report lacks, and why; below it, in the conversation.
 *  @param {OfRun} props */
export function Missing({ run }) {
    const lacking = (run.coverage ?? []).filter((c) => c.status !== 'covered');
    if (lacking.length === 0) {
        return null;
    }
    return html`<section class="missing" aria-label=${t('missing')}>
        <p class="missing-head">${t('missing')}</p>
        <ul class="coverage" ...${passageEvents(run.id)}>
            ${lacking.map((c) => html`<${Item} run=${run} item=${c} />`)}
        </ul></section>`;
}

/** @param {OfItem} props */
function Item({ run, item }) {
    const note = item.note
        || (item.status === 'covered' ? '' : t('coverage.no_reason'));
    return html`<li class=${item.status}>
        <${Icon} name=${COVERAGE_ICONS[item.status]} />
        <div><p class="coverage-what" dir="auto">
            <${Requirement} run=${run} item=${item} /></p>
        <p class="quiet" dir="auto">${t(`coverage.${item.status}`)}${
            note ? ` – ${note}` : ''}</p>
        <${Evidence} item=${item} /></div></li>`;
}

/** The passages that something rests on, each to be opened; of what is covered
 *  without any, that it is so.
 *  @param {{ item: import('../types.js').Coverage }} props */
function Evidence({ item }) {
    const numbers = item.evidence ?? [];
    if (numbers.length === 0) {
        return item.status === 'covered' ? html`<p class="quiet">
            ${t('coverage.no_evidence')}</p>` : null;
    }
    return html`<p class="quiet">${t('coverage.evidence')}${
        numbers.map((n) => html` <span role="button" tabindex="0" class="cite"
            data-n=${n} aria-label=${`${t('source')} ${n}`}>${n}</span>`)}</p>`;
}

/** What was asked, in the person's own words.
 *  @param {OfItem} props */
function Requirement({ run, item }) {
    const { store } = useApp();
    return store.messages.get(item.id ?? '')?.value.body
        ?? t(`coverage.${item.source}`);
}
