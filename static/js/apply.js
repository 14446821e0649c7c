/**
 * apply.js - what the server tells, put into the store by the rules of
 * rules.js. Each function is one step for whoever watches.
 *
 * @import { Accepted, Change, Changes, ConversationRead, News, Overview,
 *           RunList, RunRead } from './types.js'
 * @import { Store } from './store.js'
 * @import { When } from './put.js'
 */
import { batch } from '@preact/signals';

import { dropConversation, noDetails, putConversation, putHandoff, putItem,
    putItems, putMessage, putRun, read } from './put.js';
import { CALL, PART, REQUEST, SOURCE, must } from './shapes.js';
import { addMessage, addSent, emptyThread, holdBack, isBehind, mergePage,
    textFromPart,
} from './rules.js';

// --- reads -------------------------------------------------------------------

/** @param {Store} store @param {Overview} reply */
export function applyOverview(store, reply) {
    batch(() => {
        store.feed = reply.feed;
        store.account.value = reply.account ?? '';
        store.access.value = reply.access ?? store.access.peek();
        reply.conversations.forEach((c) =>
            putConversation(store, c, read(reply.as_of)));
        reply.runs.forEach((r) => putRun(store, r, read(reply.as_of)));
        store.tools.value = reply.tools ?? [];
        store.unseen.value = new Set((reply.notifications ?? [])
            .map((n) => n.run_id));
        store.loaded.value = true;
    });
}

/** @param {Store} store @param {RunList} reply */
export function applyRunList(store, reply) {
    batch(() => reply.runs.forEach((r) => putRun(store, r,
        read(reply.as_of))));
}

/**
 * @param {Store} store @param {ConversationRead} reply
 * @param {string} [first]  the message that the page was asked to come before
 */
export function applyConversation(store, reply, first) {
    const when = read(reply.as_of);
    const id = reply.conversation.id;
    /** @type {News[]} */
    const news = [];
    batch(() => {
        const thread = store.threads.peek(id) ?? emptyThread();
        const page = mergePage(thread, reply.messages.map((m) => m.id),
            reply.has_more,
            (m) => (store.messages.peek(m)?.at ?? 0) > reply.as_of, first);
        putConversation(store, reply.conversation, when);
        reply.messages.forEach((m) => putMessage(store, m, when));
        reply.runs.forEach((r) => news.push(...putRun(store, r, when)));
        reply.handoffs.forEach((h) => news.push(...putHandoff(store, h, when)));
        store.threads.set(id, holdBack(page, thread, reply.messages,
            store.sending(id)));
    });
    store.onNews(news);
}

/** @param {Store} store @param {RunRead} reply */
export function applyRunRead(store, reply) {
    const when = read(reply.as_of);
    const id = reply.run.id;
    /** @type {News[]} */
    const news = [];
    batch(() => {
        news.push(...putRun(store, reply.run, when));
        reply.handoffs.forEach((h) => news.push(...putHandoff(store, h, when)));
        const now = store.details.peek(id) ?? noDetails();
        store.details.set(id, {
            loaded: true,
            requests: putItems(now.requests, reply.requests, reply.as_of),
            calls: putItems(now.calls, reply.tool_calls, reply.as_of),
            sources: putItems(now.sources, reply.sources, reply.as_of),
        });
    });
    store.onNews(news);
}

/**
 * The reply to a message, an adjustment, a stop ...: a small read. `key` names
 * the row that stood for it.
 * @param {Store} store @param {Accepted} reply @param {string} [key]
 */
export function applyAccepted(store, reply, key) {
    const when = read(reply.as_of);
    /** @type {News[]} */
    const news = [];
    batch(() => {
        if (reply.conversation) {
            putConversation(store, reply.conversation, when);
        }
        if (reply.run) {
            news.push(...putRun(store, reply.run, when));
        }
        if (reply.handoff) {
            const { handoff } = reply;
            const isNew = !store.handoffs.peek(handoff.id);
            const told = putHandoff(store, handoff, when);
            news.push(...isNew ? [{ kind: /** @type {'handoff'} */ ('handoff'),
                handoff }] : told);
        }
        if (reply.message) {
            const { id, conversation_id: conversation } = reply.message;
            putMessage(store, reply.message, when);
            store.threads.set(conversation, addSent(
                store.threads.peek(conversation) ?? emptyThread(), id));
            if (key) {
                store.dropPending(conversation, key);
            }
        }
    });
    store.onNews(news);
}

// --- the feed ----------------------------------------------------------------

/** @type {Record<string, (store: Store, c: Change, when: When) => News[]>} */
const KINDS = {
    'message.created': (store, { message }, when) => {
        if (message) {
            const id = message.conversation_id;
            putMessage(store, message, when);
            store.threads.set(id, addMessage(
                store.threads.peek(id) ?? emptyThread(), message.id,
                store.isSending(id)));
        }
        return [];
    },
    'run.created': (store, { run }, when) =>
        (run ? putRun(store, run, when) : []),
    'run.updated': (store, { run }, when) =>
        (run ? putRun(store, run, when) : []),
    'handoff.updated': (store, { handoff }, when) =>
        (handoff ? putHandoff(store, handoff, when) : []),
    'answer.part': (store, change) => {
        must(change, PART);
        const id = change.run_id ?? '';
        store.texts.set(id, textFromPart(store.texts.peek(id), change));
        return [];
    },
    'request.updated': (store, { request }, when) => {
        if (request) {
            must(request, REQUEST);
            const now = store.details.peek(request.run_id) ?? noDetails();
            store.details.set(request.run_id, { ...now,
                requests: putItem(now.requests, request, when) });
        }
        return [];
    },
    'tool_call.updated': (store, { tool_call: call }, when) => {
        if (call) {
            must(call, CALL);
            const now = store.details.peek(call.run_id) ?? noDetails();
            store.details.set(call.run_id, { ...now,
                calls: putItem(now.calls, call, when) });
        }
        return [];
    },
    'source.added': (store, { source }, when) => {
        if (source) {
            must(source, SOURCE);
            const now = store.details.peek(source.run_id) ?? noDetails();
            store.details.set(source.run_id, { ...now,
                sources: putItem(now.sources, source, when) });
        }
        return [];
    },
    'conversation.updated': (store, { conversation }, when) => {
        if (conversation) {
            putConversation(store, conversation, when);
        }
        return [];
    },
    'notification.created': (store, { notification: n }) => {
        if (n && n.seen_at === null) {
            store.unseen.value = new Set(store.unseen.peek()).add(n.run_id);
        }
        return [];
    },
    'library.updated': (store) => {
        store.libraryNews.value += 1;
        return [];
    },
    'conversation.deleted': (store, change) => {
        if (change.conversation_id) {
            dropConversation(store, change.conversation_id, change.seq);
        }
        return [];
    },
};

/**
 * A change that is not what it should be is left out; what it was about has to
 * be read.
 * @param {Store} store @param {Changes} reply
 * @returns {{ news: News[], touched: string[], odd: string[] }} what to say,
 *     the Runs that are now known to lack something, and the conversations
 */
export function applyChanges(store, reply) {
    /** @type {News[]} */
    const news = [];
    /** @type {Set<string>} */
    const runs = new Set();
    /** Of Runs and of conversations. @type {Set<string>[]} */
    const [oddRuns, odd] = [new Set(), new Set()];
    batch(() => {
        for (const change of reply.changes) {
            const { run_id: run, conversation_id: conversation } = change;
            try {
                news.push(...KINDS[change.kind]?.(store, change,
                    { seq: change.seq, upTo: reply.next }) ?? []);
                if (run) {
                    runs.add(run);
                }
            } catch {
                if (typeof run === 'string') {
                    oddRuns.add(run);
                } else if (typeof conversation === 'string') {
                    odd.add(conversation);
                }
            }
        }
    });
    const behind = [...runs].filter((id) => isBehind(store.texts.peek(id),
        store.runs.peek(id)?.value));
    return { news, touched: [...new Set([...behind, ...oddRuns])],
        odd: [...odd] };
}
