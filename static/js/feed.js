/**
 * feed.js - the long poll: one request at a time, and the replies to those of
 * other tabs.
 *
 * The cursor starts at a read's `as_of` and moves only by `next`. A feed that
 * holds polls without end; one that listens lives on what others hand to it,
 * and asks, without hold, only for what it lacks. Every poll, whatever becomes
 * of it, ends in settle(), and settle() alone schedules the next one.
 *
 * @import { Pace } from './pace.js'
 * @import { Changes } from './types.js'
 */
import { LISTENING, backoff } from './pace.js';

/** An empty reply that comes sooner than this was not held. */
const HELD_MS = 1000;

/** A server that wishes for a longer wait is asked again all the same. */
const WISH_MAX_MS = 60_000;

/**
 * @typedef {object} Options
 * @property {(after: number, wait: number, signal: AbortSignal) =>
 *     Promise<Changes>} poll
 * @property {(reply: Changes) => boolean} onReply  only what is new here;
 *     false: all must be read again, and the feed stops until started anew
 * @property {(error: any) => void} onLink  null after a good poll
 * @property {(after: number, reply: Changes) => void} [onPolled]  as it came
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

    /** @type {Pace | null} null: asks nothing for now */
    let pace = null;
    let cursor = 0;
    /** Id of the feed that the cursor counts in. */
    let id = '';
    /** Whether there may be news that nobody will hand on any more. */
    let unsure = true;
    /** Others stood here when they asked for what they handed on. */
    let heard = 0;
    let failures = 0;
    /** Counts polls: an answer to an earlier one is not listened to. */
    let turn = 0;
    let running = false;
    /** @type {any} */
    let timer = null;
    /** @type {AbortController | null} */
    let abort = null;
    /** Whether the server may hold the poll under way. */
    let isHeld = false;
    /** Whether the poll under way was given up for another. */
    let woken = false;
    /** Ask without hold, so that the page soon knows: is the server there? */
    let inDoubt = false;

    function begin() {
        timer = null;
        turn += 1;
        const mine = turn;
        const after = cursor;
        const began = now();
        const wait = inDoubt ? 0 : pace?.hold ?? 0;
        isHeld = wait > 0;
        abort = new AbortController();
        options.poll(after, wait, abort.signal).then(
            (reply) => settle(mine, after, reply, null,
                now() - began < HELD_MS && (wait > 0 || pace === LISTENING)),
            (error) => settle(mine, after, null, error, false));
    }

    /** @param {number} ms */
    function beginAfter(ms) {
        // Timers of a page that nobody sees come late.
        if (ms === 0) {
            begin();
        } else {
            timer = setTimer(begin, ms);
        }
    }

    /**
     * @param {number} mine @param {number} after
     * @param {Changes | null} reply @param {any} error
     * @param {boolean} early
     */
    function settle(mine, after, reply, error, early) {
        if (mine !== turn || !running) {
            return;
        }
        abort = null;
        const given = woken;
        woken = false;
        inDoubt = !reply;
        if (reply) {
            failures = 0;
            options.onPolled?.(after, reply);
            if (!accept(reply)) {
                return;
            }
            options.onLink(null);
            const isEmpty = reply.changes.length === 0;
            unsure = unsure && !isEmpty;
            if (pace !== LISTENING || lacks()) {
                beginAfter(Math.max(pace?.pause ?? 0,
                    early && isEmpty ? HELD_MS : 0));
            }
        } else if (given) {
            begin();
        } else {
            failures += 1;
            options.onLink(error);
            beginAfter(Math.max(backoff(failures, random()),
                Math.min(error?.retryAfterMs ?? 0, WISH_MAX_MS)));
        }
    }

    const lacks = () => unsure || cursor < heard;

    /** Of another feed, or of nowhere in it. @param {Changes} reply */
    const isOdd = (reply) => reply.reset || reply.feed !== id;

    /** Take what is new in a reply. False if that ended this feed.
     *  @param {Changes} reply */
    function accept(reply) {
        const odd = isOdd(reply);
        if (odd || reply.next >= cursor) {
            const changes = odd ? reply.changes
                : reply.changes.filter((c) => c?.seq > cursor);
            if (!options.onReply({ ...reply, changes })) {
                stop();
                return false;
            }
            cursor = reply.next;
        }
        return true;
    }

    /**
     * A reply to somebody else's poll. One that does not join what is known
     * here, or is odd, only tells that it is time to ask.
     * @param {number} after @param {Changes} reply
     */
    function take(after, reply) {
        if (!running) {
            return;
        }
        if (isOdd(reply)) {
            unsure = true;
            ask();
        } else if (after > cursor) {
            heard = Math.max(heard, after);
            ask();
        } else if (accept(reply)) {
            unsure = false;
            failures = 0;
            options.onLink(null);
        }
    }

    /** Unless that is under way. */
    function ask() {
        if (pace === LISTENING && !abort && timer === null) {
            begin();
        }
    }

    /** @param {number} after  `as_of` of the read the page stands on
     *  @param {string} feed */
    function start(after, feed) {
        stop();
        cursor = after;
        id = feed;
        heard = 0;
        failures = 0;
        inDoubt = false;
        running = true;
        goOn();
    }

    /** Whatever is under way is given up. */
    function halt() {
        turn += 1;
        abort?.abort();
        abort = null;
        woken = false;
        if (timer !== null) {
            clearTimer(timer);
            timer = null;
        }
    }

    /** Ask now, for nobody knows what was missed. */
    function goOn() {
        unsure = true;
        if (running && pace) {
            begin();
        }
    }

    function stop() {
        running = false;
        halt();
    }

    /** From now on ask so; null: not at all. A poll that is not held may end.
     *  @param {Pace | null} next */
    function setPace(next) {
        if (next === pace) {
            return;
        }
        pace = next;
        inDoubt = true;
        if (next === null || !abort || isHeld) {
            halt();
            goOn();
        }
        unsure = true;
    }

    /**
     * Poll at once. With `anew`, a poll that is held is given up first, since
     * the network may have changed under it.
     * @param {boolean} anew
     */
    function wake(anew) {
        if (!running || !pace) {
            return;
        }
        if (timer !== null) {
            clearTimer(timer);
            begin();
        } else if (!abort) {
            goOn();
        } else if (anew) {
            woken = true;
            abort.abort();
        }
    }

    return { start, stop, setPace, take, wake };
}

/** @typedef {ReturnType<typeof createFeed>} Feed */
