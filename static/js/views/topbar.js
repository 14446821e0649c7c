/** topbar.js - where one is, the background control, and what stands in the
 *  way, in words. */
import { useEffect } from 'preact/hooks';

import { has, t } from '../i18n.js';
import { Icon, html, useApp } from '../html.js';
import * as ui from '../ui.js';

/** So many results of elsewhere are read to be told of. */
const UNSEEN_MAX = 10;

export function TopBar() {
    const { store } = useApp();
    const title = ui.current.value
        ? store.conversation(ui.current.value)?.title || t('list.untitled')
        : t('thread.new');
    return html`
        <header class="topbar">
            <button type="button" class="icon-button open-list"
                aria-label=${t('list.open')}
                aria-expanded=${ui.listOpen.value ? 'true' : 'false'}
                onClick=${() => { ui.listOpen.value = true; }}>
                <${Icon} name="menu" /></button>
            <h1 class="topbar-title" dir="auto">${title}</h1>
            <${BackgroundControl} />
        </header>`;
}

/** How many researches run, in a word; opens the panel. */
function BackgroundControl() {
    const { store, sync, actions } = useApp();
    const active = store.activeResearch();
    const waiting = active.some((r) => r.state === 'awaiting_input');
    const unseen = store.unseenElsewhere(ui.current.value);
    const ended = ui.finished.value || unseen.at(-1)?.id;
    const state = waiting ? 'waiting' : active.length > 0 ? 'running'
        : ended ? 'finished' : 'idle';

    const count = active.length || new Set([ended, ...unseen.map((r) => r.id)])
        .size;
    const unread = [...store.unseen.value].slice(-UNSEEN_MAX)
        .filter((id) => !store.run(id)).join(' ');
    useEffect(() => unread.split(' ').filter((id) => id)
        .forEach((id) => sync.readRun(id)), [unread]);

    function toggle() {
        ui.finished.value = '';
        if (state === 'finished' && ended) {
            actions.openRun(ended);
        } else {
            ui.steps.value += 1;
            ui.panelOpen.value = !ui.panelOpen.peek();
            ui.panelRun.value = '';
        }
    }
    return html`
        <button type="button" id="background" class=${`background ${state}`}
            aria-expanded=${ui.panelOpen.value ? 'true' : 'false'}
            aria-controls="panel" onClick=${toggle}>
            <span class=${`dot ${state}`} aria-hidden="true"></span>
            <span class="background-name">${t('background')}</span>
            ${state !== 'idle' && html`
                <span class="badge">${count}</span>`}
            <span class="background-state">${t(`background.${state}`)}</span>
        </button>`;
}

/** One line at most: the first thing that has to be mended. */
export function Notices() {
    const { store, sync } = useApp();
    const health = store.health.value;
    const { state, error } = sync.link.value;
    /** @type {string[]} */
    const lines = [];

    if (state === 'reconnecting' && store.loaded.value) {
        lines.push(error?.status > 0 && error.detail
            ? `${error.detail} ${t('link.again')}` : t('link.reconnecting'));
    } else if (health?.storage && health.storage !== 'ok') {
        const key = `health.storage_${health.storage}`;
        lines.push(t(has(key) ? key : 'health.storage_failing'));
    } else if (health?.runtime === 'absent') {
        lines.push(t('health.runtime_absent'));
    } else if (health?.model === 'unreachable') {
        lines.push(t('health.model_unreachable'));
    } else if (health?.model === 'unauthorized') {
        lines.push(t('health.model_unauthorized'));
    } else if (health?.library === 'failing') {
        lines.push(t('health.library_failing'));
    }
    return html`<div class="notices" role="status" aria-live="polite">
        ${lines.map((line) => html`<p class="notice">${line}</p>`)}</div>`;
}
