/** panel.js - all research of this conversation, and what runs elsewhere.
 *  Closing it changes only the view. */
import { useEffect, useRef, useState } from 'preact/hooks';

import { has, t } from '../i18n.js';
import { Icon, html, useApp } from '../html.js';
import * as notify from '../notify.js';
import { isActive, isMissing } from '../rules.js';
import * as ui from '../ui.js';
import { isEscape } from './field.js';
import { ResearchCard } from './research.js';

/** @typedef {import('../types.js').Run} Run */

export function Panel() {
    const { store, sync } = useApp();
    const { panel: refusal } = ui.refusals.value;
    const known = store.hasResearch.get(ui.current.value);
    const here = (store.researchIn.get(ui.current.value) ?? [])
        .map((id) => store.run(id))
        .filter((run) => run !== undefined)
        .sort(activeFirst);
    const elsewhere = [...store.activeResearch()
        .filter((run) => run.conversation_id !== ui.current.value),
    ...store.unseenElsewhere(ui.current.value)].sort(activeFirst);
    const place = useRef(/** @type {HTMLElement | null} */ (null));

    /** What opened it, and has the focus again when it is closed. */
    const opener = useRef(document.activeElement);

    function close() {
        const { current } = opener;
        ui.panelOpen.value = false;
        ui.panelRun.value = '';
        (current instanceof HTMLElement && current !== document.body
            && current.isConnected ? current
            : document.getElementById('background'))?.focus();
    }
    useEffect(() => {
        sync.researches.read(ui.current.peek());
    }, [ui.current.value, known]);
    useEffect(() => {
        if (!ui.panelRun.peek()) {
            place.current?.focus({ preventScroll: true });
        }
    }, []);
    return html`
        <aside class="panel" id="panel" ref=${place} tabindex="-1"
            aria-label=${t('panel.label')}
            onKeyDown=${(/** @type {KeyboardEvent} */ e) =>
                isEscape(e) && close()}>
            <header class="panel-head">
                <h2>${t('panel.title')}</h2>
                <button type="button" class="icon-button"
                    aria-label=${t('panel.close')} onClick=${close}>
                    <${Icon} name="close" /></button>
            </header>
            <div class="panel-body">
                ${refusal && html`<p class="refusal" role="alert">
                    ${refusal}</p>`}
                ${!refusal && here.length === 0 && elsewhere.length === 0 && html`
                    <div class="panel-empty"><p>${t('panel.empty')}</p>
                    <p class="quiet">${t('panel.empty.how')}</p></div>`}
                ${here.map((run) => html`<${ResearchCard} key=${run.id}
                    run=${run} first=${run === here[0]} />`)}
                ${elsewhere.length > 0 && html`<h3 class="panel-other">
                    ${t('panel.elsewhere')}</h3>`}
                ${elsewhere.map((run) => html`<${ResearchCard} key=${run.id}
                    run=${run} elsewhere />`)}
            </div>
            <${ToolServers} />
            ${notify.isPresent() && html`<${NotifySwitch} />`}
        </aside>`;
}

/** What research looks things up with, and whether it is there: one line, and
 *  a list for who wants to know. */
function ToolServers() {
    const { store, sync } = useApp();
    const all = store.tools.value;
    const bad = all.filter(isMissing).length;
    useEffect(() => {
        sync.readTools();
    }, []);
    return all.length > 0 && html`<details class="panel-foot servers">
        <summary>${bad > 0 ? t('tools.missing', { n: bad })
            : t('tools.title')}</summary>
        <ul>${all.map((s) => html`<li class=${s.state}>
            <span class="server-name">${s.kind === 'search'
                ? t('tools.search') : s.name}</span>
            <span>${stateOf(s)}</span></li>`)}</ul>
    </details>`;
}

/** @param {import('../types.js').ToolServer} s */
function stateOf(s) {
    const [, status] = /^http_(\d+)$/.exec(s.detail) ?? [];
    const why = status ? `HTTP ${status}` : s.detail && has(`tools.why.${s.detail}`)
        && t(`tools.why.${s.detail}`);
    if (s.state === 'ok') {
        const ready = s.kind === 'search' ? t('tools.ok')
            : t('tools.ready', { n: s.tools });
        return why ? `${ready}; ${why}` : ready;
    }
    return why ? t(`tools.${s.state}.why`, { why }) : t(`tools.${s.state}`);
}

/** The browser's own word at the end of a research, when asked for. */
function NotifySwitch() {
    const [refused, setRefused] = useState(false);
    if (!notify.possible.value) {
        return html`<p class="panel-foot quiet" role="status">
            ${t('notify.impossible')}</p>`;
    }
    return html`<p class="panel-foot">
        <button type="button" class="link" aria-pressed=${
            notify.wanted.value ? 'true' : 'false'}
            onClick=${async () => setRefused(!await notify.toggle())}>
            ${t(notify.wanted.value ? 'notify.off' : 'notify.on')}</button>
        ${refused && html`<span class="refusal" role="alert">
            ${t('notify.refused')}</span>`}</p>`;
}

/** @param {Run} a @param {Run} b */
const activeFirst = (a, b) =>
    Number(isActive(b.state)) - Number(isActive(a.state))
    || b.created_at - a.created_at;
