/**
 * waiting.js - what was asked of the server and is not answered yet, by place.
 */
import { signal } from '@preact/signals';

/** After so long a person wants to know why nothing happens. */
const SLOW_MS = 10_000;

/** @type {import('@preact/signals').Signal<Record<string, 'asked' | 'slow'>>} */
export const waiting = signal({});

/** @type {Map<string, Promise<any>>} */
const under = new Map();

/** @param {string} place @param {'asked' | 'slow'} [state] */
function note(place, state) {
    const { [place]: _, ...rest } = waiting.peek();
    waiting.value = state ? { ...rest, [place]: state } : rest;
}

/**
 * Say that something is under way until it is answered. What is under way at a
 * place is not asked for twice: the second one waits for the first.
 * @template T
 * @param {string} place @param {() => Promise<T>} work
 * @returns {Promise<T>}
 */
export function attend(place, work) {
    const now = under.get(place);
    if (now) {
        return now;
    }
    note(place, 'asked');
    const timer = setTimeout(() => note(place, 'slow'), SLOW_MS);
    const done = work().finally(() => {
        clearTimeout(timer);
        under.delete(place);
        note(place);
    });
    under.set(place, done);
    return done;
}
