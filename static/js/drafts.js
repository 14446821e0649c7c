/**
 * drafts.js - what is being written, by place: a conversation ('' is a new
 * one), or a box of a Run. Kept over reloads.
 *
 * @import { Draft, Mode } from './types.js'
 */
import { newKey } from './api.js';
import { SPACE, outbox, recall, remember } from './keep.js';
import { Shelf } from './shelf.js';

/** @type {Shelf<Draft>} */
const live = new Shelf();

/** Whether the browser keeps what was written, by place. */
const isKept = new Map();

/** @param {string} place @returns {Draft} */
function kept(place) {
    /** @type {Draft} */
    const none = { text: '', mode: 'auto', key: '', keyFor: '' };
    const draft = { ...none, ...recall(`draft:${place}`, {}) };
    return typeof draft.text === 'string' ? draft : none;
}

/** Read, and be told of changes. @param {string} place */
export const getDraft = (place) => live.get(place) ?? kept(place);

/** @param {string} place */
export const peekDraft = (place) => live.peek(place) ?? kept(place);

/** @param {string} place @param {Draft} draft */
export function setDraft(place, draft) {
    const empty = draft.text === '' && draft.mode === 'auto';
    live.set(place, draft);
    isKept.set(place, remember(`draft:${place}`, empty ? null : draft));
}

/** @param {string} place @param {string} text */
export const write = (place, text) =>
    setDraft(place, { ...peekDraft(place), text });

/** @param {string} place @param {Mode} mode */
export const choose = (place, mode) =>
    setDraft(place, { ...peekDraft(place), mode });

/** Another tab wrote, or sent: follow it, unless something else is being written
 *  here. @param {Pick<StorageEvent, 'key' | 'oldValue'>} event */
export function hearDraft({ key, oldValue }) {
    const space = `${SPACE}draft:`;
    if (!key?.startsWith(space)) {
        return;
    }
    const place = key.slice(space.length);
    const mine = live.peek(place);
    if (!mine || mine.text === textIn(oldValue)) {
        live.set(place, kept(place));
    }
}

/** The page was away, and heard of nothing: what is kept is newer, unless it
 *  could not be kept. */
export function rereadDrafts() {
    for (const place of live.keys()) {
        if (isKept.get(place) !== false) {
            live.set(place, kept(place));
        }
    }
}

/** @param {string | null} draft  as it is kept */
function textIn(draft) {
    try {
        return JSON.parse(draft ?? '{}')?.text ?? '';
    } catch {
        return '';
    }
}

/** How many texts were written and have not arrived anywhere. */
export function unsent() {
    const places = new Set(live.keys());
    try {
        const space = `${SPACE}draft:`;
        Object.keys(localStorage).filter((key) => key.startsWith(space))
            .forEach((key) => places.add(key.slice(space.length)));
    } catch {
        // Nothing is kept then.
    }
    return [...places].filter((place) => peekDraft(place).text.trim() !== '')
        .length + outbox().length;
}

/** @param {string} from @param {string} to */
export function moveDraft(from, to) {
    setDraft(to, peekDraft(from));
    clearDraft(from);
}

/** @param {string} place */
export const clearDraft = (place) =>
    setDraft(place, { text: '', mode: 'auto', key: '', keyFor: '' });

/**
 * The draft as it is to be sent: with its old key if this very text was tried
 * before and may have arrived, else with a new one.
 * @param {string} place @returns {Draft}
 */
export function keyed(place) {
    const draft = peekDraft(place);
    return draft.key && draft.keyFor === draft.text ? draft
        : { ...draft, key: newKey(), keyFor: draft.text };
}
