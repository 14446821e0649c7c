/**
 * trail.js - the address names what is shown, and Back and Forward go to where
 * the person was: from one conversation to another, and out of the panel.
 *
 * An entry of the browser's history knows its conversation, whether the panel
 * was open, and whether it lies `over` one that differs in nothing but that:
 * then closing the panel is going back to it.
 *
 * @typedef {{ conv: string, panel: boolean, over: boolean }} Mark
 */
import { batch, computed, effect } from '@preact/signals';

import { readHash } from './hash.js';
import * as ui from './ui.js';

/** Longer than a browser takes to go back. */
const BACK_MS = 1000;

const hash = computed(() => (ui.panelOpen.value && ui.panelRun.value
    ? `#run=${ui.panelRun.value}`
    : ui.current.value ? `#conv=${ui.current.value}` : ''));

/** @param {import('./actions.js').Actions} actions */
export function followTrail(actions) {
    let seen = ui.steps.peek();
    /** Whether an entry is being left, after the panel was closed. */
    let leaving = false;

    /** @returns {Mark | null} */
    const mark = () => history.state;

    /** @param {'pushState' | 'replaceState'} way @param {boolean} over */
    function put(way, over) {
        seen = ui.steps.peek();
        history[way]({ conv: ui.current.peek(), panel: ui.panelOpen.peek(),
            over }, '', hash.peek() || location.pathname + location.search);
    }

    function write() {
        const now = mark();
        const panel = ui.panelOpen.value;
        const isHere = ui.current.value === now?.conv;
        if (leaving || (hash.value === location.hash && isHere
            && panel === now?.panel)) {
            return;
        }
        const opens = panel && !now?.panel;
        if (isHere && now.over && !panel) {
            leaving = true;
            setTimeout(left, BACK_MS);
            history.back();
        } else if (seen !== ui.steps.peek() && (opens || !isHere)) {
            put('pushState', opens && isHere);
        } else {
            put('replaceState', panel && isHere && (now?.over ?? false));
        }
    }

    function left() {
        if (leaving) {
            leaving = false;
            write();
        }
    }

    /** Show what the address names. */
    async function restore() {
        const { run, conv } = readHash();
        if (leaving) {
            left();
        } else if (run) {
            if (run !== ui.panelRun.peek() || !ui.panelOpen.peek()) {
                await actions.goRun(run);
            }
        } else if (conv || location.hash === '') {
            const panel = mark()?.panel ?? ui.panelOpen.peek();
            batch(() => {
                ui.panelOpen.value = panel;
                ui.panelRun.value = '';
                if (conv !== ui.current.peek()) {
                    actions.go(conv);
                }
            });
        }
    }

    put('replaceState', false);
    effect(write);
    addEventListener('popstate', restore);
    addEventListener('hashchange', restore);
}
