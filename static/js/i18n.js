/**
 * i18n.js - interface texts and formats. All texts stand in text/<lang>.json.
 */
import { signal } from '@preact/signals';

import * as api from './api.js';
import { remember } from './keep.js';

export const lang = signal('en');
/** @type {import('@preact/signals').Signal<Record<string, string>>} */
const texts = signal({});

/** Counts choices: only the newest one is meant. */
let turn = 0;

/** Whether it is now the language of the page; not if another was chosen
 *  meanwhile. @param {string} code
 *  @param {ReturnType<typeof api.texts>} [coming] */
export async function loadLanguage(code, coming) {
    turn += 1;
    const mine = turn;
    try {
        const all = await (coming ?? api.texts(code));
        if (mine === turn) {
            texts.value = all;
            lang.value = code;
            document.documentElement.lang = code;
        }
    } catch (error) {
        if (mine === turn) {
            throw error;
        }
    }
    return mine === turn;
}

/** From now on, here and at the next visit. @param {string} code */
export async function chooseLanguage(code) {
    if (await loadLanguage(code)) {
        remember('lang', code);
    }
}

/**
 * The text of a key, with {name} filled in. With a number `n` the key's form
 * for that number is used where there is one.
 * @param {string} key @param {Record<string, string | number>} [vars]
 */
export function t(key, vars) {
    const all = texts.value;
    let text = all[key];
    if (typeof vars?.n === 'number') {
        const form = new Intl.PluralRules(lang.value).select(vars.n);
        text = all[`${key}.${form}`] ?? text;
    }
    return (text ?? key).replace(/\{(\w+)\}/g,
        (whole, name) => String(vars?.[name] ?? whole));
}

/** Whether there is such a text. @param {string} key */
export const has = (key) => key in texts.value;

/** The browser's own kind of the language: how it writes a time. */
const locale = () => navigator.languages
    .find((l) => l.startsWith(lang.value)) ?? lang.value;

/** @param {number} n  a part of one */
export const percent = (n) => new Intl.NumberFormat(lang.value,
    { style: 'percent', maximumFractionDigits: 0 }).format(n);

/** @param {number} n */
export const number = (n) => new Intl.NumberFormat(lang.value,
    { notation: n >= 10_000 ? 'compact' : 'standard',
        maximumFractionDigits: 1 }).format(n);

/** A day with its year. @param {number} ms  Unix time */
export const day = (ms) => new Intl.DateTimeFormat(locale(),
    { dateStyle: 'medium' }).format(ms);

/** @param {number} ms  Unix time; today's are told by the clock alone */
export function when(ms) {
    const today = new Date(ms).toDateString() === new Date().toDateString();
    return new Intl.DateTimeFormat(locale(), today
        ? { hour: '2-digit', minute: '2-digit' }
        : { month: 'short', day: 'numeric', hour: '2-digit',
            minute: '2-digit' }).format(ms);
}

/** @param {number} ms  how long it took: 0.3 s, 24 s, and from a minute as a
 *  clock tells it */
export function took(ms) {
    const seconds = Math.max(0, ms) / 1000;
    return seconds >= 60 ? span(seconds) : new Intl.NumberFormat(lang.value,
        { style: 'unit', unit: 'second', unitDisplay: 'narrow',
            minimumFractionDigits: seconds >= 0.1 && seconds < 10 ? 1 : 0,
            maximumFractionDigits: 1 }).format(seconds < 10
        ? Math.floor(seconds * 10) / 10 : Math.floor(seconds));
}

/** @param {number} seconds  1:05, 1:02:03 */
export function span(seconds) {
    const all = Math.max(0, Math.floor(seconds));
    const h = Math.floor(all / 3600);
    const m = Math.floor(all / 60) % 60;
    const s = String(all % 60).padStart(2, '0');
    return h > 0 ? `${h}:${String(m).padStart(2, '0')}:${s}` : `${m}:${s}`;
}
