/**
 * put.js - one thing told, put into the store if it is newer than what is
 * there. The steps of apply.js.
 *
 * @import { Conversation, Details, Entry, Handoff, Message, News, Run
 *           } from './types.js'
 * @import { Store } from './store.js'
 */
import { isActive, takeChange, takeRead, textFromMeta, textFromRead,
} from './rules.js';
import { CONVERSATION, HANDOFF, MESSAGE, RUN, must } from './shapes.js';

/**
 * When a thing was told: by a read (`upTo` null) or by a change.
 * @typedef {{ seq: number, upTo: number | null }} When
 */

/** @param {number} asOf @returns {When} */
export const read = (asOf) => ({ seq: asOf, upTo: null });

/**
 * @template T
 * @param {Entry<T> | undefined} entry @param {T} value @param {When} when
 */
function take(entry, value, when) {
    return when.upTo === null ? takeRead(entry, value, when.seq)
        : takeChange(entry, value, when.seq, when.upTo);
}

/** @param {Store} store @param {Conversation} value @param {When} when */
export function putConversation(store, value, when) {
    must(value, CONVERSATION);
    const all = store.conversations.peek();
    const old = all.get(value.id);
    const next = take(old, value, when);
    if (next !== old && !(old && old.value === null)) {
        store.conversations.value = new Map(all).set(value.id, next);
        if (value.unread === 0) {
            store.noteSeen(value.id);
        }
    }
}

/** @param {Store} store @param {string} id @param {number} seq */
export function dropConversation(store, id, seq) {
    store.conversations.value = new Map(store.conversations.peek())
        .set(id, { at: seq, value: null });
}

/** @param {Store} store @param {Message} value @param {When} when */
export function putMessage(store, value, when) {
    must(value, MESSAGE);
    store.messages.set(value.id,
        take(store.messages.peek(value.id), value, when));
}

/**
 * @param {Store} store @param {Run} value @param {When} when
 * @returns {News[]}
 */
export function putRun(store, value, when) {
    must(value, RUN);
    const old = store.runs.peek(value.id);
    const entry = take(old, value, when);
    const text = store.texts.peek(value.id);
    const next = when.upTo === null
        ? textFromRead(text, value.answer, when.seq)
        : textFromMeta(text, value.answer, when.seq);
    if (next && next !== text) {
        store.texts.set(value.id, next);
    }
    if (entry === old) {
        return [];
    }
    store.runs.set(value.id, entry);
    store.noteRun(value);
    // What a read tells of what was not known is the past.
    const was = old?.value.state ?? (when.upTo === null ? value.state
        : 'running');
    return was !== value.state && !(isActive(was) && value.state === 'running')
        ? [{ kind: 'run', run: value }] : [];
}

/**
 * @param {Store} store @param {Handoff} value @param {When} when
 * @returns {News[]}
 */
export function putHandoff(store, value, when) {
    must(value, HANDOFF);
    const old = store.handoffs.peek(value.id);
    const entry = take(old, value, when);
    if (entry === old) {
        return [];
    }
    store.handoffs.set(value.id, entry);
    store.handoffsOf.add(value.message_id, value.id);
    store.handoffsTo.add(value.run_id, value.id);
    const isPast = !old && when.upTo === null;
    return isPast || old?.value.state === value.state ? []
        : [{ kind: 'handoff', handoff: value }];
}

/**
 * One of a Run's requests, calls or sources.
 * @template {{ id: string }} T
 * @param {Entry<T>[]} list @param {T} value @param {When} when
 */
export function putItem(list, value, when) {
    const at = list.findIndex((e) => e.value.id === value.id);
    if (at < 0) {
        return [...list, take(undefined, value, when)];
    }
    return list.map((e, i) => (i === at ? take(e, value, when) : e));
}

/**
 * All of them, as a read has them. What came after the read stays.
 * @template {{ id: string }} T
 * @param {Entry<T>[]} list @param {T[]} values @param {number} asOf
 */
export function putItems(list, values, asOf) {
    const known = new Map(list.map((e) => [e.value.id, e]));
    const ids = new Set(values.map((v) => v.id));
    return [
        ...values.map((v) => takeRead(known.get(v.id), v, asOf)),
        ...list.filter((e) => !ids.has(e.value.id) && e.at > asOf),
    ];
}

/** @returns {Details} */
export const noDetails = () => ({ loaded: false, requests: [], calls: [],
    sources: [] });
