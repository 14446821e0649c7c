/**
 * health.js - how runtime and model are, asked for only while there is a reason
 * to look.
 *
 * @import { Store } from './store.js'
 */
import * as api from './api.js';

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

    function tick() {
        const health = store.health.peek();
        const calm = health?.runtime === 'ok' && health.model !== 'unreachable'
            && health.model !== 'unauthorized'
            && store.active.peek().length === 0;
        if (!calm && Date.now() - at > AGAIN_MS) {
            read();
        }
    }

    return { read, tick };
}
