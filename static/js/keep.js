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

/** Whether it could be done.
 *  @param {string} name @param {unknown} value  null forgets it */
export function remember(name, value) {
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
