/** timeline.js - what a research did when, as a picture with words behind it. */
import { t, took } from '../i18n.js';
import { html, useApp } from '../html.js';
import { isActive } from '../rules.js';
import { events } from '../timeline.js';
import * as ui from '../ui.js';
import { subjectOf, toolWords } from '../words.js';

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
            { n: said.length, time: took(to - from) })}>
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
                <span class="track-line"><span>0</span>
                <span>${took(to - from)}</span></span></div>
            <${Legend} said=${said} />
        </div>
        <details><summary>${t('timeline.list')}</summary>
            <${List} said=${said} from=${from} />
        </details>
    </section>`;
}

/** What a pattern or a colour means, where it is to be seen.
 *  @param {{ said: Item[] }} props */
function Legend({ said }) {
    const kinds = [['interrupted', 'skipped'], ['failed', 'unknown']]
        .map((states) => said.find((item) => states.includes(item.state)))
        .filter((item) => item !== undefined);
    return kinds.length > 0 && html`<p class="legend">${kinds.map((item) => html`
        <span key=${item.state}><span class=${`bar ${item.state}`}></span>
        ${t(`event.${item.state}`)}</span>`)}</p>`;
}

/** @typedef {import('../timeline.js').Item} Item */

/** The same in words: when, what, and how long it took.
 *  @param {{ said: Item[], from: number }} props */
function List({ said, from }) {
    return html`<div class="events" tabindex="0" role="group"
        aria-label=${t('timeline.list')}><table>
        <thead class="sr"><tr><th scope="col">${t('timeline.at')}</th>
            <th scope="col">${t('timeline.what')}</th>
            <th scope="col">${t('timeline.took')}</th></tr></thead>
        <tbody>${said.map((item) => html`<tr key=${item.id}
            class=${item.state}><td>${took(item.start - from)}</td>
            <td>${nameOf(item)} <span class="quiet" dir="auto">${
                aboutOf(item)}</span></td>
            <td>${lengthOf(item)}</td></tr>`)}</tbody>
    </table></div>`;
}

/** @param {Item} item */
const nameOf = ({ what, call }) => (call ? toolWords(call.name)
    : t(`event.${what}`));

/** How it went, if not simply well, and what it was about.
 *  @param {Item} item */
function aboutOf({ state, cause, call }) {
    return [state === 'done' ? '' : t(`event.${state}`),
        cause ? t(`cause.${cause}`) : '',
        call ? subjectOf(call) : '']
        .filter((text) => text).join(' · ');
}

/** @param {Item} item */
const lengthOf = ({ start, end, point }) => (end === null || point ? ''
    : took(end - start));

/** One thing that happened, in a line. @param {Item} item @param {number} from */
function phrase(item, from) {
    return [took(item.start - from), nameOf(item), aboutOf(item),
        lengthOf(item)].filter((text) => text).join(' · ');
}
