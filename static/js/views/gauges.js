/** gauges.js - how long a Run has been at work, and what it has used. */
import { number, percent, span, t, took } from '../i18n.js';
import { html, useApp } from '../html.js';
import { isActive } from '../rules.js';
import { atWork, cacheUse } from '../timeline.js';
import * as ui from '../ui.js';

/** @param {{ run: import('../types.js').Run }} props */
export function Elapsed({ run }) {
    const end = run.ended_at ?? (isActive(run.state) ? ui.now.value
        : run.created_at);
    const ms = end - (run.started_at ?? run.created_at);
    const text = run.ended_at && ms < 1000 ? took(ms) : span(ms / 1000);
    return html`<span class="elapsed" title=${t('research.elapsed')}>
        <span class="sr">${t('research.elapsed')}: </span>${text}</span>`;
}

/** Each with its mark; what the marks say stands below.
 *  @param {{ run: import('../types.js').Run, waited: boolean
 *      }} props  `waited`: the research has waited for the person */
export function Meters({ run, waited }) {
    const { store } = useApp();
    const { budget } = run;
    const now = run.state === 'running' ? ui.now.value : 0;
    const seconds = { ...budget.seconds,
        used: atWork(run, store.details.get(run.id), now) };
    const unknown = budget.tokens.unknown_requests;
    const cache = cacheUse(store.details.get(run.id));
    return html`<section class="part"><h4>${t('budget')}</h4>
    <dl class="meters">
        <${Meter} name=${t('budget.requests')} quota=${budget.requests} />
        <${Meter} name=${t('budget.tool_calls')} quota=${budget.tool_calls} />
        <${Meter} name=${t('budget.seconds')} quota=${seconds}
            format=${span} mark=${waited && '†'} />
        <${Meter} name=${t('budget.tokens')} quota=${budget.tokens}
            mark=${unknown > 0 && '*'} />
        ${cache && html`<${Meter} name=${t('budget.cache')}
            quota=${{ used: cache.cached, limit: cache.input }}
            share=${cache.cached / cache.input} />`}
    </dl>
    ${waited && html`<p class="quiet">† ${t('budget.waited')}</p>`}
    ${unknown > 0 && html`<p class="quiet">* ${
        t('budget.unknown', { n: unknown })}</p>`}</section>`;
}

/**
 * @param {{ name: string, quota: import('../types.js').Quota,
 *           format?: (n: number) => string, mark?: string | false,
 *           share?: number }} props  `share`: no limit, and said as a part
 */
function Meter({ name, quota, format = number, mark, share: part }) {
    const { used, limit } = quota;
    const text = part === undefined ? t('budget.of',
        { used: format(used), limit: format(limit) }) : percent(part);
    const share = limit > 0 ? Math.min(1, used / limit) : 0;
    const isFull = part === undefined && share > 0.9;
    return html`<div class="meter">
        <dt>${name}</dt>
        <dd><span class="meter-text">${text}${mark ? ` ${mark}` : ''}</span>
            <span class=${`meter-bar${isFull ? ' full' : ''}`} role="meter"
                aria-label=${name} aria-valuemin="0" aria-valuemax=${limit}
                aria-valuenow=${Math.min(used, limit)} aria-valuetext=${text}>
                <span class="meter-fill"
                    style=${{ width: `${share * 100}%` }}></span></span></dd>
    </div>`;
}
