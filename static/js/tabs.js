/**
 * tabs.js - the tabs of one browser share one held request: HTTP/1.1 has only
 * six connections for all of them.
 *
 * The tab that has the lock polls and hands each reply on. The others listen;
 * each keeps a cursor of its own, so whoever takes over goes on from there.
 * The browser itself gives the lock to the next one when its tab is closed or
 * crashes; a tab that is put to sleep gives it up; one that comes into view
 * takes it, since what nobody sees may run slowly; and so does one that has
 * heard nothing for too long. Where there are no locks or no channel, each tab
 * asks for itself, with a short hold.
 *
 * @import { Feed } from './feed.js'
 * @import { Changes } from './types.js'
 */
import { ALONE, ALONE_UNSEEN, LEADING, LISTENING } from './pace.js';

/** Longer than a leader can be silent: a held poll, and its time-out. */
const SILENCE_MS = 80_000;

/** What tabs tell each other: a reply to a poll that began at `after`, a
 *  failure, that it is time to try again, or only that somebody is there.
 *  @typedef {{ after?: number, reply?: Changes, error?: any, ask?: true
 *     }} Told */

/**
 * @typedef {object} Options
 * @property {string} name  of the lock and the channel
 * @property {Pick<LockManager, 'request'> | undefined} locks
 * @property {((name: string) => BroadcastChannel) | null} openChannel
 * @property {Pick<Feed, 'setPace' | 'take' | 'wake'>} feed
 * @property {(error: any) => void} onLink  what the leader met
 * @property {() => boolean} isSeen
 * @property {(run: () => void, ms: number) => any} [setTimer]
 * @property {(timer: any) => void} [clearTimer]
 */

/** @param {Options} options */
export function createTabs(options) {
    const { name, locks, openChannel, feed } = options;
    const setTimer = options.setTimer ?? ((run, ms) => setTimeout(run, ms));
    const clearTimer = options.clearTimer ?? ((t) => clearTimeout(t));

    /** @type {'away' | 'alone' | 'follower' | 'leader'} */
    let role = 'away';
    /** @type {BroadcastChannel | null} */
    let channel = null;
    /** Counts requests for the lock: only the newest one is meant. */
    let turn = 0;
    /** @type {AbortController | null} */
    let queued = null;
    let release = () => {};
    /** @type {any} */
    let silence = null;

    /** Take part, from now on. */
    function join() {
        if (role !== 'away') {
            return;
        }
        try {
            channel = locks && openChannel ? openChannel(name) : null;
        } catch {
            // A browser that keeps nothing of this site refuses it.
        }
        if (!channel) {
            beAlone();
            return;
        }
        channel.onmessage = (event) => hear(event.data);
        follow();
    }

    /** Let others go on: this page is put to sleep, or lacks what news are of. */
    function leave() {
        role = 'away';
        feed.setPace(null);
        letGo();
        channel?.close();
        channel = null;
        clearTimer(silence);
    }

    function letGo() {
        turn += 1;
        queued?.abort();
        queued = null;
        release();
        release = () => {};
    }

    function beAlone() {
        role = 'alone';
        feed.setPace(options.isSeen() ? ALONE : ALONE_UNSEEN);
    }

    function follow() {
        role = 'follower';
        feed.setPace(LISTENING);
        listen();
        request(false);
    }

    /** Somebody was heard; if nobody is for long, do it oneself. */
    function listen() {
        clearTimer(silence);
        silence = setTimer(() => request(true), SILENCE_MS);
    }

    /** @param {boolean} steal  now, whoever has it */
    async function request(steal) {
        letGo();
        const mine = turn;
        queued = steal ? null : new AbortController();
        let led = false;
        try {
            await locks?.request(name,
                queued ? { signal: queued.signal } : { steal: true }, () => {
                    if (mine !== turn) {
                        return undefined;
                    }
                    led = true;
                    return lead();
                });
        } catch {
            // Given up here, or taken by another tab.
        }
        if (mine !== turn) {
            return;
        }
        if (led) {
            follow();
        } else if (steal) {
            request(false);
        } else {
            beAlone();
        }
    }

    /** @returns {Promise<void>}  until it is given up */
    function lead() {
        role = 'leader';
        queued = null;
        clearTimer(silence);
        tell({});
        feed.setPace(LEADING);
        return new Promise((done) => { release = () => done(); });
    }

    /** @param {Told} told */
    function tell(told) {
        channel?.postMessage(told);
    }

    /** @param {Told} told */
    function hear({ after, reply, error, ask }) {
        if (ask) {
            if (role === 'leader') {
                feed.wake(false);
            }
            return;
        }
        if (role === 'follower') {
            listen();
        }
        if (reply) {
            feed.take(after ?? 0, reply);
        } else if (error && role === 'follower') {
            options.onLink(error);
        }
    }

    /** What came of a poll of this tab.
     *  @param {number} after @param {Changes} reply */
    function handOn(after, reply) {
        if (role === 'leader') {
            tell({ after, reply });
        }
    }

    /** What keeps this tab from the server. @param {any} error */
    function fail({ status, code, detail }) {
        if (role === 'leader') {
            tell({ error: { status, code, detail } });
        }
    }

    /** The network or the server is back.
     *  @param {boolean} anew  what was asked of it before is lost */
    function wake(anew) {
        feed.wake(anew);
        if (role === 'follower') {
            tell({ ask: true });
        }
    }

    /** The page came into view, or went out of it. */
    function look() {
        if (role === 'alone') {
            beAlone();
        } else if (role === 'follower' && options.isSeen()) {
            request(true);
        } else if (role === 'leader' && options.isSeen()) {
            feed.wake(true);
        }
    }

    return { join, leave, handOn, fail, wake, look,
        get role() { return role; } };
}

/** @typedef {ReturnType<typeof createTabs>} Tabs */
