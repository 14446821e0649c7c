/**
 * sync.js - keeps the store in step with the server: the first read, the feed,
 * re-reads of what is known to lack something.
 *
 * @import { Changes, News } from './types.js'
 * @import { Store } from './store.js'
 */
import { batch, signal } from '@preact/signals';

import * as api from './api.js';
import { applyChanges, applyConversation, applyOverview } from './apply.js';
import { createFeed } from './feed.js';
import { hear } from './gate.js';
import { createHealth } from './health.js';
import { SPACE } from './keep.js';
import { backoff } from './pace.js';
import { createRereads } from './rereads.js';
import { createResearches } from './researches.js';
import { isActive, isBehind } from './rules.js';
import { createTabs } from './tabs.js';

/** How the page is joined to the server. `error` is the last failure.
 *  @typedef {{ state: 'connecting' | 'live' | 'reconnecting', error: any }} Link
 */

export class Sync {
    link = signal(/** @type {Link} */ ({ state: 'connecting', error: null }));
    /** The conversation that is read again after a reset. */
    current = '';
    /** The one that was not there then. */
    missing = signal('');
    #failures = 0;
    /** @type {any} */
    #timer = null;
    #turn = 0;
    /** Whether all is yet to be read. */
    #lacksAll = true;
    #rereads;
    #health;

    /**
     * @param {Store} store
     * @param {(news: News[]) => void} onNews
     */
    constructor(store, onNews) {
        this.store = store;
        store.onNews = onNews;
        this.feed = createFeed({
            poll: api.changes,
            onReply: (reply) => this.#onReply(reply),
            onLink: (error) => this.#onLink(error),
            onPolled: (after, reply) => this.tabs.handOn(after, reply),
        });
        this.#health = createHealth(store);
        this.#rereads = createRereads(store, (feed) => this.#isOther(feed));
        this.researches = createResearches(store,
            (feed) => this.#isOther(feed));
        this.tabs = createTabs({
            name: SPACE,
            locks: navigator.locks,
            openChannel: typeof BroadcastChannel === 'function'
                ? (name) => new BroadcastChannel(name) : null,
            feed: this.feed,
            onLink: (error) => this.#showLink(error),
            isSeen: () => document.visibilityState === 'visible',
        });
    }

    /** Drop all and read it again, then follow the feed from there.
     *  @param {import('./early.js').First} [first]  asked for already */
    async restart(first) {
        this.#turn += 1;
        const mine = this.#turn;
        this.#lacksAll = true;
        clearTimeout(this.#timer);
        this.feed.stop();
        try {
            const id = this.current;
            const [all, open] = await Promise.all([
                first?.overview ?? api.overview(),
                id ? this.#orNull(first?.open ?? api.conversation(id)) : null]);
            if (mine !== this.#turn) {
                return;
            }
            const same = open !== null && open.feed === all.feed;
            const ran = this.store.active.peek();
            batch(() => {
                this.store.clear();
                applyOverview(this.store, all);
                if (same) {
                    applyConversation(this.store, open);
                }
            });
            this.tabs.join();
            this.feed.start(same ? Math.min(all.as_of, open.as_of)
                : all.as_of, all.feed);
            this.missing.value = open ? '' : id;
            if (this.current && (this.current !== id || (open && !same))) {
                this.readConversation(this.current).catch(() => {
                    this.missing.value = this.current;
                });
            }
            this.#failures = 0;
            this.#lacksAll = false;
            this.#onLink(null);
            this.#tellEnds(ran);
        } catch (error) {
            if (mine === this.#turn) {
                this.#failures += 1;
                this.#onLink(error);
                this.tabs.leave();
                this.#timer = setTimeout(() => this.restart(),
                    backoff(this.#failures, Math.random()));
            }
        }
    }

    /** What ran before all was read anew, and does not any more, has ended
     *  unheard. @param {string[]} ran */
    async #tellEnds(ran) {
        const ended = ran.filter((id) =>
            !this.store.active.peek().includes(id));
        await Promise.all(ended.map((id) => this.readRun(id)));
        this.store.onNews(ended.flatMap((id) => {
            const run = this.store.runs.peek(id)?.value;
            return run && !isActive(run.state)
                ? [{ kind: /** @type {'run'} */ ('run'), run }] : [];
        }));
    }

    /** A conversation that is gone is no reason not to start.
     *  @param {Promise<import('./types.js').ConversationRead>} read */
    async #orNull(read) {
        try {
            return await read;
        } catch (error) {
            if (error instanceof api.ApiError && error.status === 404) {
                return null;
            }
            throw error;
        }
    }

    /** @param {Changes} reply */
    #onReply(reply) {
        if (reply.reset || reply.feed !== this.store.feed) {
            this.restart();
            return false;
        }
        try {
            this.#take(reply);
        } catch (error) {
            // What goes wrong in drawing it must not end the feed.
            globalThis.reportError?.(error);
        }
        return true;
    }

    /** @param {Changes} reply */
    #take(reply) {
        const { news, touched, odd } = applyChanges(this.store, reply);
        touched.forEach((id) => this.readRun(id));
        odd.filter((id) => this.store.threads.peek(id)?.loaded).forEach((id) =>
            this.readConversation(id).catch(() => {}));
        this.store.onNews(news);
    }

    /** @param {any} error  what this tab met itself; null: nothing */
    #onLink(error) {
        if (error) {
            this.tabs.fail(error);
        }
        this.#showLink(error);
    }

    /** @param {any} error */
    #showLink(error) {
        if (error?.code === 'login_required') {
            hear(error);
        }
        const state = error ? 'reconnecting' : 'live';
        const was = this.link.peek();
        if (was.state !== state || error) {
            this.link.value = { state, error };
        }
        if (!error && was.state !== 'live') {
            this.#health.read();
            this.#rereads.again();
            this.researches.again();
        }
    }

    /** Whether a reply is of another database; then all is read again.
     *  @param {string} feed */
    async #isOther(feed) {
        if (feed === this.store.feed) {
            return false;
        }
        await this.restart();
        return true;
    }

    /**
     * Read a conversation, or the page of it before a message.
     * @param {string} id @param {string} [before]
     */
    async readConversation(id, before) {
        const reply = await api.conversation(id, before);
        if (await this.#isOther(reply.feed)) {
            return;
        }
        applyConversation(this.store, reply, before);
        for (const run of reply.runs) {
            this.#readIfBehind(run.id);
        }
    }

    /** @param {string} id */
    #readIfBehind(id) {
        if (isBehind(this.store.texts.peek(id),
            this.store.runs.peek(id)?.value)) {
            this.readRun(id);
        }
    }

    /** Until it lacks nothing. @param {string} id */
    readRun(id) {
        return this.#rereads.read(id);
    }

    /** Somebody looks at what tools depend on. */
    readTools() {
        return this.#health.readTools();
    }

    /** Once in a while. */
    tick() {
        this.#health.tick();
    }

    /** There is no network at all; no need to wait for a failure. */
    lost() {
        this.#showLink({ status: 0, code: 'no_connection', detail: '' });
    }

    /** The network is back, or the page was woken. */
    wake() {
        if (this.#lacksAll) {
            this.restart();
        } else {
            this.tabs.join();
            this.tabs.wake(true);
        }
    }

    /** The server answered to something else. */
    reached() {
        if (this.link.peek().state === 'reconnecting' && !this.#lacksAll) {
            this.tabs.wake(false);
        }
    }

    /** The page came into view, or went out of it. @param {boolean} seen */
    look(seen) {
        if (seen && this.#lacksAll) {
            this.restart();
        }
        if (seen) {
            this.#rereads.again();
        }
        this.tabs.look();
    }
}
