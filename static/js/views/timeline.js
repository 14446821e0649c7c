/** timeline.js - what a research did when, as a picture with words behind it. */
import { span, t } from '../i18n.js';
import { html, useApp } from '../html.js';
import { isActive } from '../rules.js';
import { events } from '../timeline.js';
import * as ui from '../ui.js';

/** @param {{ run: import('../types.js').Run }} props */
export function Timeline({ run }) {
    const { store } = useApp();
    const details = store.details.get(run.id);
    const handoffs = (store.handoffsTo.get(run.id) ?? [])
        .map((id) => store.handoffs.get(id)?.value)
        .filter((h) => h !== undefined);
    const end = run.ended_at ?? (isActive(run.state) ? ui.now.value
        : run.created_at);
    const { rows, from, to } = events(run, details, handoffs, end);
    const at = (/** @type {number} */ ms) =>
        `${Math.min(100, Math.max(0, (ms - from) / (to - from) * 100))}%`;
    const said = rows.flatMap((row) => row.items.map((item) => ({ ...item,
        row: row.name }))).sort((a, b) => a.start - b.start);

    if (said.length === 0) {
        return null;
    }
    return html`<section class="part timeline">
        <h4>${t('timeline')}</h4>
        <div class="tracks" role="img" aria-label=${t('timeline.label',
            { n: said.length, time: span((to - from) / 1000) })}>
            ${rows.map((row) => html`<div class=${`track of-${row.name}`}
                key=${row.name}>
                <span class="track-name">${t(`timeline.${row.name}`)}</span>
                <span class="track-line">${row.items.map((item) => html`
                    <span key=${item.id} title=${phrase(item, from)}
                        class=${`bar ${item.state}${item.end === null
                            ? ' open' : ''}`}
                        style=${{ insetInlineStart: at(item.start),
                            width: item.point ? undefined
                                : `calc(${at(item.end ?? to)} - ${
                                    at(item.start)})` }}></span>`)}
                </span></div>`)}
            <div class="track axis"><span class="track-name"></span>
                <span class="track-line"><span>0:00</span>
                <span>${span((to - from) / 1000)}</span></span></div>
        </div>
        <details><summary>${t('timeline.list')}</summary>
            <ol class="events">${said.map((item) => html`
                <li key=${item.id}>${phrase(item, from)}</li>`)}</ol>
        </details>
    </section>`;
}

/**
 * One thing that happened, in words.
 * @param {import('../timeline.js').Item} item @param {number} from
 */
function phrase(item, from) {
    const time = span((item.start - from) / 1000);
    const how = t(`event.${item.state}`);
    const cause = item.cause ? t(`cause.${item.cause}`) : '';
    const took = item.end !== null && !item.point
        ? span((item.end - item.start) / 1000) : '';
    return [time, t(`event.${item.what}`), item.detail, how, cause, took]
        .filter((text) => text).join(' · ');
}
