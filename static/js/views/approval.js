/** approval.js - a call that waits for the person: what it is, and their word. */
import { useEffect, useRef, useState } from 'preact/hooks';

import { clearDraft, getDraft, write } from '../drafts.js';
import { t } from '../i18n.js';
import { Icon, html, useApp } from '../html.js';
import { pretty } from '../pretty.js';
import * as ui from '../ui.js';
import { waiting } from '../waiting.js';
import { decisionWords, toolWords } from '../words.js';
import { grow, once } from './field.js';
import { Waiting } from './waiting.js';

/** A click that was meant for what stood here before allows nothing: the time
 *  that browsers leave before they take a permission. */
const RIPE_MS = 500;

/** @typedef {{ run: import('../types.js').Run }} OfRun */
/** @typedef {import('../types.js').Approval} OneApproval */

/** @param {OfRun & { approval: OneApproval }} props */
export function Approval({ run, approval }) {
    const { actions } = useApp();
    const root = useRef(/** @type {HTMLElement | null} */ (null));
    const place = `approve:${approval.id}`;
    const refusal = ui.refusals.value[place];
    const busy = waiting.value[place] !== undefined;
    const [isRipe, setRipe] = useState(false);
    useEffect(() => {
        const timer = setTimeout(() => setRipe(true), RIPE_MS);
        return () => clearTimeout(timer);
    }, []);

    /** @param {'once' | 'run' | 'deny'} decision @param {string} [note] */
    async function decide(decision, note = '') {
        // What held the focus is about to go.
        const above = /** @type {HTMLElement | null | undefined} */ (
            root.current?.closest('[data-run]'));
        if (!busy && (isRipe || decision === 'deny') && await actions.decide(approval.id, decision, note)) {
            clearDraft(`deny:${approval.id}`);
            if (above && document.activeElement === document.body) {
                above.tabIndex = -1;
                above.focus({ preventScroll: true });
            }
        }
    }
    return html`<div class="awaiting approval" role="group" ref=${root}
        data-approval=${approval.id} aria-label=${t('approval.head')}>
        <p class="awaiting-head">${t('approval.head')}</p>
        <p class="approval-tool"><strong dir="auto">${
            toolWords(approval.tool)}</strong>
            <code dir="ltr">${approval.tool}</code>
            ${approval.server && html`<span class="quiet">${
                t('approval.server', { server: approval.server })}</span>`}
        </p>
        <p class="quiet">${t(`approval.reason.${approval.reason}`)}</p>
        ${approval.changed && html`<p class="approval-changed"><strong>${
            t('approval.changed')}</strong></p>`}
        <pre class="approval-arguments" dir="ltr" tabindex="0" role="group"
            aria-label=${t('approval.arguments')}>${
                pretty(approval.arguments)}</pre>
        <div class="approval-buttons" role="group"
            aria-label=${t('approval.buttons')}>
            <button type="button" class="small"
                aria-disabled=${String(busy || !isRipe)}
                onClick=${once(() => decide('once'))}>
                ${t('approval.once')}</button>
            <button type="button" class="small"
                aria-disabled=${String(busy || !isRipe)}
                onClick=${once(() => decide('run'))}>
                ${t(`approval.run.${run.kind}`)}</button>
        </div>
        <${Deny} id=${approval.id} busy=${busy}
            onDeny=${(/** @type {string} */ note) => decide('deny', note)} />
        <${Waiting} place=${place} word="send.sending"
            slow="wait.slow.send" />
        ${refusal && html`<p class="refusal" role="alert">${refusal}</p>`}
    </div>`;
}

/** A denial, and a word to the model with it.
 *  @param {{ id: string, busy: boolean, onDeny: (note: string) => void
 *      }} props */
function Deny({ id, busy, onDeny }) {
    const place = `deny:${id}`;
    const note = getDraft(place).text;
    const field = useRef(/** @type {HTMLTextAreaElement | null} */ (null));
    useEffect(() => grow(field.current), [note]);
    return html`<form class="box" onSubmit=${(/** @type {Event} */ e) => {
        e.preventDefault();
        onDeny(note.trim());
    }}>
        <textarea ref=${field} rows="1" dir="auto" maxlength="1000" value=${note}
            aria-label=${t('approval.note')}
            placeholder=${t('approval.note.placeholder')}
            onInput=${(/** @type {any} */ e) =>
                write(place, e.currentTarget.value)}></textarea>
        <button type="submit" class="small deny" onClick=${once()}
            aria-disabled=${String(busy)}>${t('approval.deny')}</button>
    </form>`;
}

/** What was decided so far, as receipts.
 *  @param {{ id: string }} props  of a Run */
export function Decisions({ id }) {
    const { store } = useApp();
    const calls = (store.details.get(id)?.calls ?? []).map((e) => e.value)
        .filter((c) => c.approval && c.approval.state !== 'open');
    if (calls.length === 0) {
        return null;
    }
    return html`<ul class="receipts decisions" aria-label=${
        t('approval.decisions')}>${calls.map((c) => html`
        <li key=${c.id} class=${`receipt ${c.approval?.state}`}>
            <span class="receipt-line"><${Icon} name=${
                c.approval?.state.startsWith('approved') ? 'check' : 'cross'} />
                <span class="receipt-words">${decisionWords(c)}</span>
                <span class="quiet" dir="auto">${toolWords(c.name)}</span>
            </span>
            ${c.approval?.note && html`<q class="receipt-quote" dir="auto">${
                c.approval.note}</q>`}
        </li>`)}</ul>`;
}
