/**
 * pace.js - how often the server is asked for news.
 *
 * @typedef {object} Pace  how a feed asks
 * @property {number} hold  seconds that the server may hold a poll
 * @property {number} pause  milliseconds between two polls
 */

/** For all tabs of a browser; what else there is hears of it.
 *  @type {Pace} */
export const LEADING = { hold: 50, pause: 0 };

/** A tab for itself, beside others that may hold a connection each.
 *  @type {Pace} */
export const ALONE = { hold: 5, pause: 0 };
/** @type {Pace} */
export const ALONE_UNSEEN = { hold: 0, pause: 5000 };

/** Others hand on; only what is lacking is asked for. @type {Pace} */
export const LISTENING = { hold: 0, pause: 200 };

const BACKOFF_MS = 500;
const BACKOFF_MAX_MS = 30_000;

/**
 * How long to wait after the n-th failure in a row: doubled each time, spread
 * over half of it so that many pages do not come back together.
 * @param {number} failures @param {number} random  0 to 1
 */
export function backoff(failures, random) {
    const full = Math.min(BACKOFF_MAX_MS, BACKOFF_MS * 2 ** (failures - 1));
    return full / 2 + (full / 2) * random;
}

/** @param {number} ms @returns {Promise<void>} */
export const pause = (ms) => new Promise((done) => { setTimeout(done, ms); });
