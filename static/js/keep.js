/**
 * keep.js - what this browser remembers: language, drafts, messages on
 * their way. Storage may be missing or full; then the page forgets, and works on.
 *
 * @import { Pending } from './types.js'
 */

import { ROOT } from './place.js';

/** Several Asides may live on one host, below different prefixes. */
export const SPACE = `aside:${ROOT.pathname}:`;

/**
 * What is not of the kind of the fallback was not kept by this page.
 * @template T
 * @param {string} name @param {T} fallback
 * @returns {T}
 */
export function recall(name, fallback) {
    try {
        const text = localStorage.getItem(SPACE + name);
        const value = text === null ? fallback : JSON.parse(text);
        return typeof value === typeof fallback && value !== null
            && Array.isArray(value) === Array.isArray(fallback)
            ? value : fallback;
    } catch {
        return fallback;
    }
}

/** What stays when somebody logs out: it is the browser's, not the account's. */
const STAYS = ['lang', 'left'];

/** Whether this page keeps nothing any more. */
let isClosed = false;

/** Nothing that was kept stays, and nothing more is kept by this page: what is
 *  still on its way here may fail, and would be kept then. */
export function forgetAll() {
    isClosed = true;
    for (const name of ['localStorage', 'sessionStorage']) {
        try {
            const all = /** @type {any} */ (globalThis)[name];
            Object.keys(all).filter((key) => key.startsWith(SPACE)
                && !STAYS.includes(key.slice(SPACE.length)))
                .forEach((key) => all.removeItem(key));
        } catch {
            // Nothing is kept then.
        }
    }
}

/** Whether it could be done.
 *  @param {string} name @param {unknown} value  null forgets it */
export function remember(name, value) {
    if (isClosed && value !== null) {
        return false;
    }
    try {
        if (value === null) {
            localStorage.removeItem(SPACE + name);
        } else {
            localStorage.setItem(SPACE + name, JSON.stringify(value));
        }
        return true;
    } catch {
        // Not worth a word: it would be said at every key.
        return false;
    }
}

export const LANGUAGES = ['en', 'zh'];

/** The language kept from last time, else the browser's first that we have. */
export function preferred() {
    const wanted = [recall('lang', ''), ...navigator.languages]
        .map((l) => l.slice(0, 2).toLowerCase());
    return wanted.find((l) => LANGUAGES.includes(l)) ?? 'en';
}

/** Messages that were on their way when the page was left, and those that were
 *  refused and are in no composer. @returns {Pending[]} */
export const outbox = () => recall('outbox', /** @type {any[]} */ ([]))
    .filter((row) => ['key', 'conversation', 'body', 'mode', 'state']
        .every((name) => typeof row?.[name] === 'string'));

/** @param {Pending} row */
export function intoOutbox(row) {
    remember('outbox', [...outbox().filter((r) => r.key !== row.key), row]);
}

/** @param {string} key */
export function outOfOutbox(key) {
    const left = outbox().filter((r) => r.key !== key);
    remember('outbox', left.length > 0 ? left : null);
}
