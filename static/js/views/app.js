/** app.js - the page: list, conversation, panel, and what is said aloud. */
import { useEffect, useState } from 'preact/hooks';

import { shut } from '../gate.js';
import { has, t } from '../i18n.js';
import { html, idle, useApp } from '../html.js';
import * as ui from '../ui.js';
import { Composer } from './composer.js';
import { ConversationList } from './list.js';
import { Passage } from './passage.js';
import { loadMarkdown } from './prose.js';
import { Thread } from './thread.js';
import { Notices, TopBar } from './topbar.js';

export function App() {
    const { store, sync } = useApp();
    const ready = store.loaded.value;
    const panel = ui.panelOpen.value;
    const spoken = ui.spoken.value;

    return html`
        <div class=${`app${panel ? ' with-panel' : ''}${
            ui.listOpen.value ? ' with-list' : ''}`}>
            <a class="skip" href="#composer" onClick=${skip}>
                ${t('skip.composer')}</a>
            <${ConversationList} />
            <main class="main">
                <${TopBar} />
                <${Notices} />
                ${ready ? html`<${Thread} key=${ui.current.value} />
                        <${Composer} place=${ui.current.value} />`
                    : html`<${Starting} error=${sync.link.value.error} />`}
            </main>
            ${panel && html`<${Late} load=${loadPanel} waiting=${(
                /** @type {string} */ key) => html`<aside class="panel"
                id="panel"><p class="panel-empty quiet">${t(key)}</p></aside>`}
            />`}
            ${ui.findOpen.value && html`<${Late} load=${loadFind} />`}
            ${ui.libraryOpen.value && html`<${Late} load=${loadLibrary} />`}
            ${ui.auditOpen.value && html`<${Late} load=${loadAudit} />`}
            ${ui.accessOpen.value && html`<${Late} load=${loadAccess} />`}
            <${Passage} />
            ${shut.value && html`<${Late} load=${loadLogin} />`}
            <div class="veil" onClick=${() => { ui.listOpen.value = false; }}>
            </div>
            <div class="aloud" role="status" aria-live="polite">
                <p key=${spoken.n}>${spoken.text}</p></div>
        </div>`;
}

// --- what comes after the first picture --------------------------------------

const loadPanel = () => import('./panel.js').then((m) => m.Panel);
const loadLibrary = () => import('./library.js').then((m) => m.Library);
const loadAudit = () => import('./audit.js').then((m) => m.AuditLog);
const loadAccess = () => import('./access.js').then((m) => m.Access);
const loadLogin = () => import('./login.js').then((m) => m.Login);
const loadFind = () => import('./find.js').then((m) => m.Find);

export function preload() {
    idle(() => {
        loadMarkdown();
        Promise.all([loadPanel(), loadFind()]).catch(() => {});
    });
}

/**
 * A view whose code may still be on its way; meanwhile, `waiting` with the key
 * of a text.
 * @param {{ load: () => Promise<any>, waiting?: (key: string) => any }} props
 */
function Late({ load, waiting }) {
    const [View, setView] = useState(/** @type {any} */ (null));
    const [failed, setFailed] = useState(false);
    useEffect(() => {
        load().then((view) => setView(() => view), () => setFailed(true));
    }, []);
    return View ? html`<${View} />`
        : waiting?.(failed ? 'error.no_connection' : 'panel.loading') ?? null;
}

/** @param {Event} event */
function skip(event) {
    event.preventDefault();
    ui.focusComposer.value += 1;
}

/** @param {{ error: any }} props */
function Starting({ error }) {
    const key = `error.${error?.status}`;
    return html`<div class="starting"><p>${!error ? t('link.connecting')
        : error.detail || (has(key) ? t(key) : t('error.no_connection'))}</p>
        ${error && html`<p class="quiet">${t('link.again')}</p>`}</div>`;
}
