/**
 * health.js - how runtime, model and what tools depend on are, asked for only
 * while there is a reason to look.
 *
 * @import { Store } from './store.js'
 */
import * as api from './api.js';
import { isMissing } from './rules.js';

const AGAIN_MS = 20_000;

/** @param {Store} store */
export function createHealth(store) {
    let at = 0;

    async function read() {
        at = Date.now();
        try {
            store.health.value = await api.health();
        } catch {
            // The link itself says what is wrong.
        }
    }

    /** Nothing to ask where nothing is configured: that takes a new start. */
    async function readTools() {
        if (store.tools.peek().length === 0) {
            return;
        }
        try {
            store.tools.value = (await api.overview()).tools ?? [];
        } catch {
            // As above.
        }
    }

    function tick() {
        const health = store.health.peek();
        const calm = !store.tools.peek().some(isMissing)
            && health?.runtime === 'ok' && health.model !== 'unreachable'
            && health.model !== 'unauthorized'
            && health.library !== 'failing'
            && (health.storage ?? 'ok') === 'ok'
            && store.active.peek().length === 0;
        if (!calm && Date.now() - at > AGAIN_MS) {
            read();
            readTools();
        }
    }

    return { read, readTools, tick };
}
