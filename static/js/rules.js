/**
 * rules.js - when news may replace what is shown. Pure functions.
 *
 * Everything the server tells carries a place in one order, the `seq` of the
 * feed. A thing is kept as an entry { at, value }: `value` is the thing as it
 * was at `at` or later. Reads, replays and changes may then arrive in any
 * order and any number of times; what is shown never goes back.
 *
 * @import { Answer, Change, Entry, Thread, Text } from './types.js'
 */

/** The number of the first part of a revision. */
export const FIRST_PART = 1;

/** Parts kept while a re-read is on its way. */
const AHEAD_MAX = 1000;

/**
 * A read counts if it is not older than what is shown.
 * @template T
 * @param {Entry<T> | undefined} entry @param {T} value @param {number} asOf
 * @returns {Entry<T>}
 */
export function takeRead(entry, value, asOf) {
    if (entry && asOf < entry.at) {
        return entry;
    }
    return { at: asOf, value };
}

/**
 * A change counts if it is newer than the read it stands on. Its thing was
 * rendered when the reply was made, which had seen everything up to `upTo`.
 * @template T
 * @param {Entry<T> | undefined} entry @param {T} value
 * @param {number} seq @param {number} upTo
 * @returns {Entry<T>}
 */
export function takeChange(entry, value, seq, upTo) {
    if (entry && seq <= entry.at) {
        return entry;
    }
    return { at: Math.max(seq, upTo), value };
}

/** @param {number} at @returns {Text} */
export function emptyText(at) {
    return { at, revision: 0, parts: 0, body: '', ahead: [] };
}

/**
 * The answer as a read has it: the whole text.
 * @param {Text | undefined} text @param {Answer} answer @param {number} asOf
 * @returns {Text | undefined}
 */
export function textFromRead(text, answer, asOf) {
    if (typeof answer.body !== 'string') {
        return textFromMeta(text, answer, asOf);
    }
    if (text && asOf < text.at) {
        return text;
    }
    /** @type {Text} */
    let next = {
        at: asOf,
        revision: answer.revision,
        parts: answer.parts,
        body: answer.body,
        ahead: [],
    };
    for (const change of text ? text.ahead : []) {
        next = textFromPart(next, change);
    }
    return next;
}

/**
 * The answer as a change of its Run has it: without text. It can only say
 * that a newer revision began, or that there is nothing to read yet.
 * @param {Text | undefined} text @param {Answer} answer @param {number} seq
 * @returns {Text | undefined}
 */
export function textFromMeta(text, answer, seq) {
    if (!text) {
        return answer.parts === 0 ? { ...emptyText(seq),
            revision: answer.revision } : undefined;
    }
    if (answer.revision <= text.revision || seq <= text.at) {
        return text;
    }
    return { ...text, revision: answer.revision, parts: 0, body: '' };
}

/**
 * A part is applied once, in order. One that is not the next is kept in
 * `ahead` until a read of the Run closes the gap.
 * @param {Text | undefined} text @param {Change} change
 * @returns {Text}
 */
export function textFromPart(text, change) {
    const { seq } = change;
    const revision = change.revision ?? 0;
    const part = change.part ?? 0;
    const now = text ?? { ...emptyText(0), revision: -1 };

    if (seq <= now.at || revision < now.revision) {
        return now;
    }
    const next = revision > now.revision ? FIRST_PART
        : now.parts + FIRST_PART;
    if (part < next) {
        return now;
    }
    if (part > next) {
        return { ...now, ahead: [...now.ahead, change].slice(-AHEAD_MAX) };
    }
    return {
        at: seq,
        revision,
        parts: part - FIRST_PART + 1,
        body: (revision > now.revision ? '' : now.body) + (change.text ?? ''),
        ahead: now.ahead,
    };
}

/**
 * Whether the text is known to lack something, so that the Run must be read.
 * @param {Text | undefined} text
 * @param {{ answer: Answer, ended_at: number | null } | undefined} run
 */
export function isBehind(text, run) {
    if (text && text.ahead.length > 0) {
        return true;
    }
    if (!run || run.ended_at === null) {
        return !text && !!run && run.answer.parts > 0;
    }
    return (text ? text.revision : 0) < run.answer.revision
        || (text ? text.parts : 0) < run.answer.parts;
}

/** @returns {Thread} */
export function emptyThread() {
    return { loaded: false, order: [], extra: [], held: [], hasMore: false };
}

/**
 * A page of a conversation's messages, oldest first, joined to what is known.
 * Without `first` it is the newest page: it decides the order, but messages
 * that came after it stay, and so do older pages that it continues. Else it is
 * the page before that message, if that is still there.
 * @param {Thread} thread @param {string[]} ids @param {boolean} hasMore
 * @param {(id: string) => boolean} isNewer  whether it came after the read
 * @param {string} [first]
 * @returns {Thread}
 */
export function mergePage(thread, ids, hasMore, isNewer, first) {
    const seen = new Set(ids);
    const rest = thread.order.filter((id) => !seen.has(id));
    const extra = thread.extra.filter((id) => !seen.has(id));
    if (first !== undefined) {
        const at = rest.indexOf(first);
        return at < 0 ? thread : { ...thread, extra,
            order: [...rest.slice(0, at), ...ids, ...rest.slice(at)],
            hasMore: at > 0 ? thread.hasMore : hasMore };
    }
    const joint = thread.order.findIndex((id) => seen.has(id));
    const before = joint > 0 ? thread.order.slice(0, joint)
        .filter((id) => !seen.has(id)) : [];
    const kept = new Set(before);
    const after = rest.filter((id) => !kept.has(id) && isNewer(id));
    return {
        loaded: true,
        order: [...before, ...ids, ...after],
        extra,
        held: thread.held,
        hasMore: before.length > 0 ? thread.hasMore : hasMore,
    };
}

/**
 * A page may hold a message whose row still waits to hear its id. Of those that
 * were not known, the newest with the text of each row is not shown yet.
 * @param {Thread} thread  the page joined in @param {Thread} old  without it
 * @param {{ id: string, body: string }[]} messages  of the page
 * @param {{ body: string }[]} sending
 * @returns {Thread}
 */
export function holdBack(thread, old, messages, sending) {
    const known = new Set([...old.order, ...old.extra]);
    const held = new Set(thread.held);
    /** @type {Set<string>} */
    const used = new Set();
    for (const { body } of sending) {
        const found = messages.findLast((m) => m.body === body
            && !used.has(m.id) && (held.has(m.id) || !known.has(m.id)));
        if (found) {
            used.add(found.id);
            held.add(found.id);
        }
    }
    return { ...thread, held: [...held] };
}

/**
 * A message told by the feed, which tells them in the order of their commits.
 * While this page waits to hear the id of a message it sent (`hold`), one
 * that it does not know may be just that one, so it is not shown yet.
 * @param {Thread} thread @param {string} id @param {boolean} hold
 * @returns {Thread}
 */
export function addMessage(thread, id, hold) {
    if (thread.order.includes(id)) {
        return thread;
    }
    const known = thread.extra.includes(id);
    return {
        ...thread,
        order: [...thread.order, id],
        extra: known ? thread.extra.filter((e) => e !== id) : thread.extra,
        held: hold && !known ? [...thread.held, id] : thread.held,
    };
}

/**
 * A message this page sent and has the id of. Its place among others is
 * known when the feed or a read tells it; until then it stands at the end.
 * @param {Thread} thread @param {string} id
 * @returns {Thread}
 */
export function addSent(thread, id) {
    const held = thread.held.filter((h) => h !== id);
    if (thread.order.includes(id) || thread.extra.includes(id)) {
        return { ...thread, held };
    }
    return { ...thread, held, extra: [...thread.extra, id] };
}

/** @param {string} state */
export function isActive(state) {
    return state === 'running' || state === 'awaiting_input';
}

/** Something that tools depend on is not there, or does not let us in.
 *  @param {import('./types.js').ToolServer} server */
export function isMissing({ state }) {
    return state === 'unreachable' || state === 'unauthorized';
}
