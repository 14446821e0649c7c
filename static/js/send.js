/**
 * send.js - a message on its way. Its key is made once; every attempt carries
 * it, so that trying again can never send it twice.
 *
 * @import { Mode, Pending } from './types.js'
 * @import { Store } from './store.js'
 */
import * as api from './api.js';
import { applyAccepted } from './apply.js';
import { intoOutbox, outOfOutbox } from './keep.js';
import { me } from './owner.js';
import { pause } from './pace.js';
import { attend } from './waiting.js';
import { why } from './words.js';

/** Waits before the attempts after the first. */
const AGAIN_MS = [400, 1500];

/** Refusals that pass by themselves. */
const PASSING = ['busy', 'rate_limited', 'unavailable'];

/** A longer wish of the server to wait is the person's to decide. */
const WAIT_MAX_MS = 3000;

/**
 * Call until it is accepted, refused, or the attempts are used up. Only
 * failures that trying again can mend are tried again.
 * @template T
 * @param {() => Promise<T>} attempt
 * @returns {Promise<T>}
 */
export async function persist(attempt) {
    for (const ms of AGAIN_MS) {
        try {
            return await attempt();
        } catch (error) {
            const mends = error instanceof api.ApiError
                && (error.unsure || PASSING.includes(error.code))
                && error.retryAfterMs <= WAIT_MAX_MS;
            if (!mends) {
                throw error;
            }
            await pause(Math.max(ms, error.retryAfterMs));
        }
    }
    return attempt();
}

/** It waits for what the person decides, also when the page is left.
 *  @param {Store} store @param {Pending} row @param {string} detail */
export function refuse(store, row, detail) {
    /** @type {Pending} */
    const refused = { ...row, state: 'refused', detail, tab: me() };
    store.putPending(refused);
    intoOutbox(refused);
    return detail;
}

/** @param {Store} store
 *  @param {Pick<Pending, 'conversation' | 'key'>} row */
export function forget(store, row) {
    store.dropPending(row.conversation, row.key);
    outOfOutbox(row.key);
}

/**
 * Send, showing a row meanwhile. Resolves to '' when it was accepted, else to
 * the reason in words; the caller says what becomes of the row.
 * @param {Store} store
 * @param {{ conversation: string, body: string, mode: Mode, key: string
 *     }} message
 * @param {boolean} [again]  it may be among those that were read already, so
 *     a row is shown only if it is refused
 */
export async function deliver(store, message, again = false) {
    /** @type {Pending} */
    const row = { ...message, state: 'sending', detail: '',
        tab: me() };
    if (!again) {
        store.putPending(row);
    }
    intoOutbox(row);
    try {
        const reply = await attend(`send:${row.key}`, () => persist(() =>
            api.sendMessage(row.conversation, row.body, row.mode, row.key)));
        applyAccepted(store, reply, row.key);
        outOfOutbox(row.key);
        return '';
    } catch (error) {
        return refuse(store, row, why(error));
    }
}
