/**
 * researches.js - all research of a conversation, that of messages not read
 * too. It is read once; what comes later is known from the feed.
 *
 * @import { Store } from './store.js'
 */
import * as api from './api.js';
import { applyRunList } from './apply.js';

/** Pages of research of one conversation. */
const PAGES = 100;

/**
 * @param {Store} store
 * @param {(feed: string) => Promise<boolean>} isOther  whether a reply is of
 *     another database, which is then seen to
 */
export function createResearches(store, isOther) {
    /** Conversations whose research could not be read. @type {Set<string>} */
    const left = new Set();

    /** @param {string} id */
    async function read(id) {
        if (!id || store.hasResearch.peek(id)) {
            return;
        }
        store.hasResearch.set(id, true);
        try {
            let before = '';
            for (let i = 0; i < PAGES; i += 1) {
                const reply = await api.researchIn(id, before);
                if (await isOther(reply.feed)) {
                    return;
                }
                applyRunList(store, reply);
                before = reply.runs.at(-1)?.id ?? '';
                if (!reply.has_more || !before) {
                    return;
                }
            }
        } catch {
            left.add(id);
        }
    }

    /** The server is back: read what could not be read. */
    function again() {
        for (const id of left) {
            left.delete(id);
            store.hasResearch.set(id, false);
            read(id);
        }
    }

    return { read, again };
}
