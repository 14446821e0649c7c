/**
 * store.js - the one copy of what the server told, keyed by Run.
 *
 * Answers, receipts, tool progress and sources hang on the Run, a Run hangs on
 * its source message; nothing is found by being the latest. The conversation
 * and the panel draw from the same entries. No DOM and no fetch in here.
 *
 * apply.js is the way in; the views read through the shelves.
 *
 * @import { AccessState, Conversation, Details, Entry, Handoff, Health, Message, Pending,
 *           Run, Text, Thread, ToolServer } from './types.js'
 */
import { signal } from '@preact/signals';

import { emptyThread, isActive } from './rules.js';
import { Index, Shelf } from './shelf.js';

export class Store {
    /** Id of the feed that everything here belongs to; '' before the first read. */
    feed = '';
    loaded = signal(false);
    account = signal('');
    access = signal(/** @type {AccessState} */ (
        { tokens: false, scope: 'admin', session: null }));
    /** Counts how often the account's library became another. */
    libraryNews = signal(0);
    health = signal(/** @type {Health | null} */ (null));
    /** What tools depend on, as it was read last. */
    tools = signal(/** @type {ToolServer[]} */ ([]));

    /** By id; a deleted one stays as null, so that a late read cannot revive it.
     *  @type {import('@preact/signals').Signal<Map<string, Entry<Conversation | null>>>} */
    conversations = signal(new Map());
    /** @type {Shelf<Thread>} */
    threads = new Shelf();
    /** @type {Shelf<Entry<Message>>} */
    messages = new Shelf();
    /** @type {Shelf<Entry<Run>>} */
    runs = new Shelf();
    /** @type {Shelf<Text>} */
    texts = new Shelf();
    /** @type {Shelf<Details>} */
    details = new Shelf();
    /** @type {Shelf<Entry<Handoff>>} */
    handoffs = new Shelf();
    /** Messages on their way, by conversation. @type {Shelf<Pending[]>} */
    pending = new Shelf();

    /** Runs of a message; continuations without words of a Run. */
    runsOf = new Index();
    continuationsOf = new Index();
    /** Handoffs of a message; handoffs to a Run. */
    handoffsOf = new Index();
    handoffsTo = new Index();
    /** All research known, by conversation. */
    researchIn = new Index();
    /** Whether all research of a conversation was read. @type {Shelf<boolean>} */
    hasResearch = new Shelf();
    /** Ids of research whose end nobody has seen yet. */
    unseen = signal(/** @type {Set<string>} */ (new Set()));
    /** Ids of Runs that have not ended. */
    active = signal(/** @type {string[]} */ ([]));

    /** Receipts and states that changed are worth a word.
     *  @type {(news: import('./types.js').News[]) => void} */
    onNews = () => {};

    /** Forget all that the server told; what waits to be sent stays. */
    clear() {
        for (const shelf of [this.threads, this.messages, this.runs, this.texts,
            this.details, this.handoffs, this.runsOf, this.continuationsOf,
            this.handoffsOf, this.handoffsTo, this.researchIn, this.hasResearch]) {
            shelf.clear();
        }
        this.feed = '';
        this.libraryNews.value += 1;
        this.conversations.value = new Map();
        this.active.value = [];
        this.unseen.value = new Set();
    }

    /** @param {string} id */
    thread(id) {
        return this.threads.get(id) ?? emptyThread();
    }

    /** A conversation that was just made: nothing of it is left to be read.
     *  @param {string} id */
    noteMade(id) {
        this.threads.set(id, { ...this.threads.peek(id) ?? emptyThread(),
            loaded: true });
    }

    /** @param {string} id */
    run(id) {
        return this.runs.get(id)?.value;
    }

    /** Newest first. */
    list() {
        /** @type {Conversation[]} */
        const all = [];
        for (const { value } of this.conversations.value.values()) {
            if (value) {
                all.push(value);
            }
        }
        return all.sort((a, b) => b.updated_at - a.updated_at
            || (a.id < b.id ? 1 : -1));
    }

    /** @param {string} id */
    conversation(id) {
        return this.conversations.value.get(id)?.value ?? null;
    }

    /** @param {Run} run */
    noteRun(run) {
        if (run.message_id) {
            this.runsOf.add(run.message_id, run.id);
        } else if (run.continues) {
            this.continuationsOf.add(run.continues, run.id);
        }
        if (run.kind === 'research') {
            this.researchIn.add(run.conversation_id, run.id);
        }
        const now = this.active.peek();
        if (isActive(run.state) !== now.includes(run.id)) {
            this.active.value = isActive(run.state) ? [...now, run.id]
                : now.filter((id) => id !== run.id);
        }
    }

    /** All results of a conversation were seen. @param {string} id */
    noteSeen(id) {
        const now = this.unseen.peek();
        const left = [...now].filter((run) =>
            this.runs.peek(run)?.value.conversation_id !== id);
        if (left.length < now.size) {
            this.unseen.value = new Set(left);
        }
    }

    /** Research of other conversations whose end nobody has seen, newest last;
     *  those not read yet are left out. @param {string} current */
    unseenElsewhere(current) {
        return [...this.unseen.value].map((id) => this.run(id))
            .filter((run) => run !== undefined)
            .filter((run) => run.conversation_id !== current
                && !isActive(run.state)
                && (this.conversation(run.conversation_id)?.unread ?? 0) > 0);
    }

    /** Research that has not ended, in any conversation. */
    activeResearch() {
        return this.active.value
            .map((id) => this.run(id))
            .filter((run) => run?.kind === 'research')
            .map((run) => /** @type {Run} */ (run));
    }

    // --- messages on their way -------------------------------------------------

    /** @param {Pending} row  replaces the one with its key, or is added */
    putPending(row) {
        const now = this.pending.peek(row.conversation) ?? [];
        const at = now.findIndex((r) => r.key === row.key);
        this.pending.set(row.conversation, at < 0 ? [...now, row]
            : now.map((r, i) => (i === at ? row : r)));
        this.#letGo(row.conversation);
    }

    /** @param {string} conversation @param {string} key */
    dropPending(conversation, key) {
        const left = (this.pending.peek(conversation) ?? [])
            .filter((r) => r.key !== key);
        this.pending.set(conversation, left);
        this.#letGo(conversation);
    }

    /** Nothing is held back for rows that are not on their way.
     *  @param {string} conversation */
    #letGo(conversation) {
        const thread = this.threads.peek(conversation);
        if (thread && thread.held.length > 0 && !this.isSending(conversation)) {
            this.threads.set(conversation, { ...thread, held: [] });
        }
    }

    /** @param {string} conversation */
    sending(conversation) {
        return (this.pending.peek(conversation) ?? [])
            .filter((r) => r.state === 'sending');
    }

    /** Those that wait for a person's word, in any conversation. */
    refused() {
        return [...this.pending.keys()].flatMap((id) =>
            this.pending.peek(id) ?? []).filter((r) => r.state === 'refused');
    }

    /** @param {string} conversation */
    isSending(conversation) {
        return this.sending(conversation).length > 0;
    }
}
