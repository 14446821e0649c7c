/** answer.js - what a Run says, under its question. */
import { t } from '../i18n.js';
import { html, useApp } from '../html.js';
import { isActive } from '../rules.js';
import * as ui from '../ui.js';
import { reportWords, stateWords, titleOf, verdict } from '../words.js';
import { Approval, Decisions } from './approval.js';
import { Box, once } from './field.js';
import { Elapsed } from './gauges.js';
import { Prose } from './prose.js';
import { waiting } from '../waiting.js';
import { Downloads, Missing } from './outcome.js';
import { Waiting } from './waiting.js';

/** @param {{ id: string }} props */
export function Answer({ id }) {
    const { store } = useApp();
    const run = store.run(id);
    if (!run) {
        return html`<p class="status quiet">${t('answer.loading')}</p>`;
    }
    return html`<div class=${`answer ${run.kind} ${run.state}`}
        data-run=${id} role="group" aria-label=${t('answer.label')}>
        ${run.kind === 'research' ? html`<${Research} run=${run} />`
            : html`<${Short} run=${run} />`}
    </div>`;
}

/** @typedef {{ run: import('../types.js').Run }} Props */

/** @param {Props} props */
function Short({ run }) {
    const { store } = useApp();
    const body = store.texts.get(run.id)?.body ?? '';
    const handed = run.message_id
        ? (store.handoffsOf.get(run.message_id) ?? []).length > 0 : false;
    const live = isActive(run.state);
    const silent = run.state === 'completed' && body === '' && !handed;

    return html`
        ${run.lead && !body && html`<${Prose} text=${run.lead} run=${run.id}
            live=${false} />`}
        ${body && html`<${Prose} text=${body} run=${run.id} live=${live} />`}
        ${silent && html`<p class="status quiet">
            ${run.progress || t('answer.done')}</p>`}
        ${live && html`<p class="status">
            <span class="dot running" aria-hidden="true"></span>
            <span>${body ? t('phase.answering') : stateWords(run)}</span>
            <${Stop} id=${run.id} label=${t('answer.stop')} /></p>`}
        <${Awaiting} run=${run} />
        <${Decisions} id=${run.id} />
        <${Failure} run=${run} />`;
}

/** @param {Props} props */
function Research({ run }) {
    const { store, actions } = useApp();
    const body = store.texts.get(run.id)?.body ?? '';
    const live = isActive(run.state);
    const title = titleOf(run);
    const asked = store.messages.get(run.message_id ?? '')?.value.body ?? '';
    const isSame = asked.includes(title.replace(/…$/, ''));

    return html`
        ${run.lead && html`<div class="lead"><${Prose} text=${run.lead}
            run=${run.id} live=${false} /></div>`}
        <div class="strip">
            <span class=${`dot ${live ? run.state : 'ended'}`}
                aria-hidden="true"></span>
            <div class="strip-text">
                <p class="strip-title" dir="auto">${isSame
                    ? t('research.untitled') : title}</p>
                <p class="strip-state"><span class="strip-words">
                    ${stateWords(run)}</span>
                    ${live && run.progress && html`<span class="strip-progress"
                        dir="auto">${run.progress}</span>`}</p>
            </div>
            <${Elapsed} run=${run} />
            <button type="button" class="small"
                aria-label=${t('research.show.label', { title })}
                onClick=${() => actions.openRun(run.id)}>
                ${t('research.show')}</button>
        </div>
        <${Awaiting} run=${run} />
        <${Decisions} id=${run.id} />
        ${body && html`<div class="report">
            ${run.answer.draft && html`<p class="draft-mark">
                ${reportWords(run)}</p>`}
            <${Prose} text=${body} run=${run.id} live=${live} /></div>`}
        ${!live && html`<${Missing} run=${run} />`}
        ${!live && body && html`<${Downloads} id=${run.id} />`}
        <${Failure} run=${run} />`;
}

/** What a research wants to know, and where to say it.
 *  @param {Props} props */
export function Awaiting({ run }) {
    const { actions } = useApp();
    if (run.approval && isActive(run.state)) {
        return html`<${Approval} key=${run.approval.id} run=${run}
            approval=${run.approval} />`;
    }
    if (run.state !== 'awaiting_input') {
        return null;
    }
    return html`<div class="awaiting">
        <p class="awaiting-head">${t('awaiting.head')}</p>
        <p class="awaiting-question" dir="auto">${run.question}</p>
        <${Box} place=${`reply:${run.id}`} label=${t('awaiting.label')}
            placeholder=${t('awaiting.placeholder')}
            button=${t('awaiting.send')}
            onSend=${(/** @type {string} */ text, /** @type {string} */ key) =>
                actions.reply(run.id, text, key)} />
    </div>`;
}

/** Why a Run did not complete, and what can be done.
 *  @param {Props} props */
function Failure({ run }) {
    const { actions } = useApp();
    const [word, why] = verdict(run);
    if (isActive(run.state) || run.state === 'completed') {
        return null;
    }
    return html`<div class=${`failure ${run.state}`}>
        <p><strong>${word}${why ? '.' : ''}</strong> ${why}</p>
        ${run.message_id && html`<button type="button" class="small"
            onClick=${once(() => actions.askAgain(run))}>
            ${t('answer.again')}</button>`}
    </div>`;
}

/** @param {{ id: string, label: string, note?: string }} props */
export function Stop({ id, label, note }) {
    const { actions } = useApp();
    const refusal = ui.refusals.value[`stop:${id}`];
    const isAsked = waiting.value[`stop:${id}`] !== undefined;
    return html`<button type="button" class="small stop" title=${note}
        aria-disabled=${isAsked ? 'true' : 'false'}
        onClick=${() => actions.stop(id)}>${isAsked ? t('wait.stop')
            : label}</button>
        <${Waiting} place=${`stop:${id}`} slow="wait.slow.stop" />
        ${refusal && html`<span class="refusal" role="alert">
            ${refusal}</span>`}`;
}
