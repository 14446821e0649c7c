/**
 * feed.js - the long poll: one held request at a time.
 *
 * The cursor starts at a read's `as_of` and moves only by `next`. Every poll,
 * whatever becomes of it, ends in settle(), and settle() alone schedules the
 * next one. What is done with a reply is the caller's business.
 *
 * @import { Changes } from './types.js'
 */

/** Seconds that the server may hold a poll. */
const HOLD = 50;

const BACKOFF_MS = 500;
const BACKOFF_MAX_MS = 30_000;

/** An empty reply that comes sooner than this was not held. */
const HELD_MS = 1000;

/**
 * How long to wait after the n-th failure in a row: doubled each time, spread
 * over half of it so that many pages do not come back together.
 * @param {number} failures @param {number} random  0 to 1
 */
export function backoff(failures, random) {
    const full = Math.min(BACKOFF_MAX_MS, BACKOFF_MS * 2 ** (failures - 1));
    return full / 2 + (full / 2) * random;
}

/**
 * @typedef {object} Options
 * @property {(after: number, wait: number, signal: AbortSignal) =>
 *     Promise<Changes>} poll
 * @property {(reply: Changes) => boolean} onReply  false: all must be read
 *     again, and the feed stops until it is started anew
 * @property {(error: any) => void} onLink  null after a good poll
 * @property {(run: () => void, ms: number) => any} [setTimer]
 * @property {(timer: any) => void} [clearTimer]
 * @property {() => number} [random]
 * @property {() => number} [now]
 */

/** @param {Options} options */
export function createFeed(options) {
    const setTimer = options.setTimer ?? ((run, ms) => setTimeout(run, ms));
    const clearTimer = options.clearTimer ?? ((t) => clearTimeout(t));
    const random = options.random ?? Math.random;
    const now = options.now ?? Date.now;

    let cursor = 0;
    let failures = 0;
    /** Counts polls: an answer to an earlier one is not listened to. */
    let turn = 0;
    let running = false;
    /** @type {any} */
    let timer = null;
    /** @type {AbortController | null} */
    let abort = null;
    let woken = false;

    function begin() {
        timer = null;
        turn += 1;
        const mine = turn;
        const began = now();
        // After a failure ask without hold, so that the page soon knows.
        const wait = failures > 0 ? 0 : HOLD;
        abort = new AbortController();
        options.poll(cursor, wait, abort.signal).then(
            (reply) => settle(mine, reply, null, wait > 0
                && now() - began < HELD_MS),
            (error) => settle(mine, null, error, false));
    }

    /**
     * @param {number} mine @param {Changes | null} reply @param {any} error
     * @param {boolean} early
     */
    function settle(mine, reply, error, early) {
        if (mine !== turn || !running) {
            return;
        }
        abort = null;
        let delay = 0;
        if (reply) {
            failures = 0;
            if (!options.onReply(reply)) {
                stop();
                return;
            }
            cursor = reply.next;
            options.onLink(null);
            delay = early && reply.changes.length === 0 ? HELD_MS : 0;
        } else if (!woken) {
            failures += 1;
            delay = Math.max(backoff(failures, random()),
                error?.retryAfterMs ?? 0);
            options.onLink(error);
        }
        woken = false;
        timer = setTimer(begin, delay);
    }

    /** @param {number} after  `as_of` of the read the page stands on */
    function start(after) {
        stop();
        cursor = after;
        failures = 0;
        running = true;
        begin();
    }

    function stop() {
        running = false;
        turn += 1;
        abort?.abort();
        abort = null;
        if (timer !== null) {
            clearTimer(timer);
            timer = null;
        }
    }

    /**
     * Poll at once. With `anew`, a poll that is held is given up first, since
     * the network may have changed under it.
     * @param {boolean} anew
     */
    function wake(anew) {
        if (!running) {
            return;
        }
        if (timer !== null) {
            clearTimer(timer);
            begin();
        } else if (anew && abort) {
            woken = true;
            abort.abort();
        }
    }

    return { start, stop, wake };
}
