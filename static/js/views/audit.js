/**
 * audit.js - the audit log: what was done to the account's things, by whom and
 * from where, newest first. A dialog over the page, read when it is opened.
 *
 * @import { AuditLine } from '../types.js'
 */
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';

import * as api from '../api.js';
import { has, t, when } from '../i18n.js';
import { Icon, html } from '../html.js';
import * as ui from '../ui.js';
import { toolWords, why } from '../words.js';

/** @typedef {{ lines: AuditLine[], more: boolean }} Known */

export function AuditLog() {
    const box = useRef(/** @type {HTMLDialogElement | null} */ (null));
    const [known, setKnown] = useState(/** @type {Known | null} */ (null));
    const [error, setError] = useState('');
    const close = () => { ui.auditOpen.value = false; };

    useLayoutEffect(() => {
        const { current } = box;
        current?.showModal();
        return () => current?.close();
    }, []);

    /** Older lines are never other than they were: they are put behind.
     *  @param {Known | null} before */
    async function read(before) {
        try {
            const page = await api.audit(before?.lines.at(-1)?.id);
            setKnown({ lines: [...before?.lines ?? [], ...page.audit],
                more: page.has_more });
            setError('');
        } catch (failed) {
            setError(why(failed));
        }
    }
    useEffect(() => {
        read(null);
    }, []);

    return html`
        <dialog class="find audit" ref=${box} aria-label=${t('audit.title')}
            onClose=${close} onClick=${(/** @type {MouseEvent} */ e) =>
                e.target === box.current && close()}>
            <div class="find-inside">
                <div class="find-head audit-head">
                    <h2>${t('audit.title')}</h2>
                    <button type="button" class="icon-button" onClick=${close}
                        aria-label=${t('audit.close')}>
                        <${Icon} name="close" /></button>
                </div>
                ${error && html`<p class="refusal" role="alert">${error}</p>`}
                <p class="find-state quiet" role="status">${known
                    ? (known.lines.length === 0 ? t('audit.none') : '')
                    : (error ? '' : t('audit.loading'))}</p>
                <div class="finds" tabindex="0" role="region"
                    aria-label=${t('audit.title')}>
                    <ol class="audit-lines">${(known?.lines ?? []).map((line) =>
                        html`<${Line} key=${line.id} line=${line} />`)}</ol>
                    ${known?.more && html`<button type="button" class="small"
                        onClick=${() => read(known)}>${t('find.more')}</button>`}
                </div>
            </div>
        </dialog>`;
}

/** @param {{ line: AuditLine }} props */
function Line({ line }) {
    const { actor, actor_id: id, address, subject } = line;
    const who = t(`audit.by.${actor}`);
    return html`
        <li class="audit-line">
            <time class="quiet" datetime=${new Date(line.at).toISOString()}>
                ${when(line.at)}</time>
            <span class="audit-what">${what(line)}${outcome(line) && html`
                <span class="quiet"> – ${outcome(line)}</span>`}</span>
            <span class="audit-who quiet">${[who,
                id && id !== subject ? id : '',
                address ? t('audit.from', { address }) : '',
                subject].filter(Boolean).join(' · ')}</span>
        </li>`;
}

/** @param {AuditLine} line */
function what({ action, detail }) {
    return action === 'tool_call' ? t('audit.action.tool_call',
        { tool: toolWords(detail ?? '') }) : t(`audit.action.${action}`);
}

/** What came of it, where that is told. @param {AuditLine} line */
function outcome({ action, outcome: word, detail }) {
    if (word === null) {
        return '';
    }
    if (action === 'run.end') {
        return detail && has(`reason.${detail}`)
            ? `${t(`state.${word}`)}. ${t(`reason.${detail}`)}`
            : t(`state.${word}`);
    }
    return t(`audit.outcome.${word}`);
}
