/** gauges.js - how long a Run has been at work, and what it has used. */
import { number, span, t } from '../i18n.js';
import { html } from '../html.js';
import { isActive } from '../rules.js';
import * as ui from '../ui.js';

/** @param {{ run: import('../types.js').Run }} props */
export function Elapsed({ run }) {
    const end = run.ended_at ?? (isActive(run.state) ? ui.now.value
        : run.created_at);
    const text = span((end - (run.started_at ?? run.created_at)) / 1000);
    return html`<span class="elapsed" title=${t('research.elapsed')}>
        <span class="sr">${t('research.elapsed')}: </span>${text}</span>`;
}

/** @param {{ budget: import('../types.js').Run['budget'] }} props */
export function Meters({ budget }) {
    const unknown = budget.tokens.unknown_requests;
    return html`<dl class="meters">
        <${Meter} name=${t('budget.requests')} quota=${budget.requests} />
        <${Meter} name=${t('budget.tool_calls')} quota=${budget.tool_calls} />
        <${Meter} name=${t('budget.seconds')} quota=${budget.seconds}
            format=${span} />
        <${Meter} name=${t('budget.tokens')} quota=${budget.tokens}
            note=${unknown > 0 ? t('budget.unknown', { n: unknown }) : ''} />
    </dl>`;
}

/**
 * @param {{ name: string, quota: import('../types.js').Quota,
 *           format?: (n: number) => string, note?: string }} props
 */
function Meter({ name, quota, format = number, note }) {
    const { used, limit } = quota;
    const text = t('budget.of', { used: format(used), limit: format(limit) });
    const share = limit > 0 ? Math.min(1, used / limit) : 0;
    return html`<div class="meter" title=${note || undefined}>
        <dt>${name}</dt>
        <dd><span class="meter-text">${text}${note ? ' *' : ''}</span>
            <span class=${`meter-bar${share > 0.9 ? ' full' : ''}`} role="meter"
                aria-label=${name} aria-valuemin="0" aria-valuemax=${limit}
                aria-valuenow=${Math.min(used, limit)} aria-valuetext=${text}>
                <span class="meter-fill"
                    style=${{ width: `${share * 100}%` }}></span></span>
            ${note && html`<span class="sr">${note}</span>`}</dd>
    </div>`;
}
