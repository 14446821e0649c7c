/**
 * rereads.js - Runs that are known to lack something are read until they do
 * not. One reader per Run, however many ask for it. A reader gives up after a
 * while; what it left is read when there is a reason to hope again.
 *
 * @import { Store } from './store.js'
 */
import * as api from './api.js';
import { applyRunRead } from './apply.js';
import { pause } from './pace.js';
import { isBehind } from './rules.js';

/** Waits before the reads of a Run whose answer is not readable yet. */
const READ_MS = [0, 250, 1000, 3000, 8000];

/**
 * @param {Store} store
 * @param {(feed: string) => Promise<boolean>} isOther  whether a reply is of
 *     another database, which is then seen to
 */
export function createRereads(store, isOther) {
    /** @type {Map<string, Promise<void>>} */
    const reading = new Map();
    /** Runs that lacked something when their reader gave up.
     *  @type {Set<string>} */
    const left = new Set();

    /** @param {string} id */
    async function readUntilWhole(id) {
        for (const ms of READ_MS) {
            if (ms > 0) {
                await pause(ms);
            }
            try {
                const reply = await api.run(id);
                if (await isOther(reply.feed)) {
                    return;
                }
                applyRunRead(store, reply);
            } catch (error) {
                if (error instanceof api.ApiError && error.status === 404) {
                    return;
                }
            }
            const lacks = isBehind(store.texts.peek(id),
                store.runs.peek(id)?.value);
            if (!lacks && store.details.peek(id)?.loaded) {
                return;
            }
        }
        left.add(id);
    }

    /** Until it lacks nothing. @param {string} id @returns {Promise<void>} */
    function read(id) {
        left.delete(id);
        const now = reading.get(id) ?? readUntilWhole(id)
            .finally(() => reading.delete(id));
        reading.set(id, now);
        return now;
    }

    /** The server is back: read what was given up. */
    function again() {
        [...left].forEach(read);
    }

    return { read, again };
}
