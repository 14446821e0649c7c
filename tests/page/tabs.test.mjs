/** One held request for all tabs: who has the lead, and how it is passed on. */
import assert from 'node:assert/strict';
import { test } from 'node:test';

import { ALONE, ALONE_UNSEEN, LEADING, LISTENING,
} from '../../static/js/pace.js';
import { createTabs } from '../../static/js/tabs.js';

const settle = () => new Promise((done) => setImmediate(done));

/** The locks of a browser: one holder, the others wait in their order. */
class Locks {
    holder = null;
    queue = [];

    request(name, { signal, steal }, callback) {
        assert.equal(name, 'aside:/:');
        return new Promise((resolve, reject) => {
            const one = { callback, resolve, reject };
            signal?.addEventListener('abort', () => {
                if (this.queue.includes(one)) {
                    this.queue = this.queue.filter((o) => o !== one);
                    reject(new DOMException('given up', 'AbortError'));
                }
            });
            if (steal) {
                this.holder?.reject(new DOMException('taken', 'AbortError'));
                this.holder = null;
                this.queue.unshift(one);
            } else {
                this.queue.push(one);
            }
            queueMicrotask(() => this.next());
        });
    }

    async next() {
        if (this.holder || this.queue.length === 0) {
            return;
        }
        const one = this.queue.shift();
        this.holder = one;
        const value = await one.callback();
        if (this.holder === one) {
            this.holder = null;
            one.resolve(value);
            this.next();
        }
    }

    /** The holder's tab crashed: nobody tells it. */
    crash() {
        this.holder = null;
        this.next();
    }
}

/** A browser with tabs, whose feeds only note what they are told. */
function browser({ locks = new Locks(), hasChannel = true,
    refusesChannel = false } = {}) {
    const open = new Set();
    const channel = (name) => {
        if (refusesChannel) {
            throw new DOMException('not here', 'SecurityError');
        }
        const one = { name, onmessage: null,
            postMessage(data) {
                for (const other of open) {
                    if (other !== one && other.name === name) {
                        other.onmessage?.({ data: structuredClone(data) });
                    }
                }
            },
            close() { open.delete(one); } };
        open.add(one);
        return one;
    };
    const newTab = () => {
        const tab = { paces: [], taken: [], wakes: [], links: [], seen: true,
            timers: [] };
        const tabs = createTabs({
            name: 'aside:/:', locks, openChannel: hasChannel ? channel : null,
            feed: {
                setPace: (pace) => tab.paces.push(pace),
                take: (after, reply) => tab.taken.push([after, reply.next]),
                wake: (anew) => tab.wakes.push(anew),
            },
            onLink: (error) => tab.links.push(error),
            isSeen: () => tab.seen,
            setTimer: (run, ms) => {
                const timer = { run, ms, off: false };
                tab.timers.push(timer);
                return timer;
            },
            clearTimer: (timer) => {
                if (timer) {
                    timer.off = true;
                }
            },
        });
        return Object.assign(tab, { tabs, pace: () => tab.paces.at(-1) });
    };
    return { locks, newTab, open,
        async join(count) {
            const all = Array.from({ length: count }, newTab);
            for (const tab of all) {
                tab.tabs.join();
                await settle();
            }
            return all;
        } };
}

const leaders = (all) => all.filter((tab) => tab.pace() === LEADING);

test('I-4 of eight tabs one polls, and the others hear of it', async () => {
    const all = await browser().join(8);
    assert.deepEqual(leaders(all), [all[0]]);
    all[0].tabs.handOn(3, { next: 5, changes: [], reset: false, feed: 'f' });
    all[1].tabs.handOn(1, { next: 2, changes: [], reset: false, feed: 'f' });
    assert.deepEqual(all[0].taken, []);
    for (const tab of all.slice(1)) {
        assert.equal(tab.pace(), LISTENING);
        assert.deepEqual(tab.taken, [[3, 5]]);
    }
});

test('a leader that is left, or crashes, is followed by the next', async () => {
    const { join, locks } = browser();
    const [a, b, c] = await join(3);
    a.tabs.leave();
    await settle();
    assert.equal(a.pace(), null);
    assert.deepEqual(leaders([a, b, c]), [b]);
    locks.crash();
    await settle();
    assert.equal(c.pace(), LEADING);
});

test('a tab that slept takes part again, behind the others', async () => {
    const { join } = browser();
    const [a, b] = await join(2);
    a.tabs.leave();
    await settle();
    a.tabs.join();
    a.tabs.join();
    await settle();
    assert.deepEqual([a.pace(), b.pace()], [LISTENING, LEADING]);
    b.tabs.handOn(0, { next: 1, changes: [], reset: false, feed: 'f' });
    assert.deepEqual(a.taken, [[0, 1]]);
});

test('who waits for the lock and is left does not lead later', async () => {
    const { join, open } = browser();
    const [a, b] = await join(2);
    b.tabs.leave();
    await settle();
    a.tabs.leave();
    await settle();
    assert.deepEqual([a.pace(), b.pace()], [null, null]);
    assert.equal(open.size, 0);
});

test('a tab that comes into view takes the lead', async () => {
    const [a, b, c] = await browser().join(3);
    c.seen = false;
    c.tabs.look();
    assert.equal(c.pace(), LISTENING);
    c.seen = true;
    c.tabs.look();
    await settle();
    assert.deepEqual(leaders([a, b, c]), [c]);
    assert.equal(a.pace(), LISTENING);
    // The one that lost it stands in the line again.
    c.tabs.leave();
    await settle();
    assert.deepEqual(leaders([a, b, c]), [b]);
    b.tabs.leave();
    await settle();
    assert.deepEqual(leaders([a, b, c]), [a]);
    a.tabs.look();
    assert.deepEqual(a.wakes, [true]);
});

test('a leader that nobody hears is replaced', async () => {
    const [a, b] = await browser().join(2);
    const first = b.timers.at(-1);
    a.tabs.handOn(0, { next: 1, changes: [], reset: false, feed: 'f' });
    assert.equal(first.off, true);
    const second = b.timers.at(-1);
    a.tabs.fail({ status: 0, code: 'no_connection', detail: '' });
    assert.equal(second.off, true);
    const last = b.timers.at(-1);
    assert.equal(last.off, false);
    last.run();
    await settle();
    assert.deepEqual([a.pace(), b.pace()], [LISTENING, LEADING]);
    assert.equal(b.timers.at(-1).off, true);
});

test('what the leader meets is shown in every tab', async () => {
    const [a, b, c] = await browser().join(3);
    const error = { status: 503, code: 'busy', detail: 'Wait a little.' };
    a.tabs.fail(Object.assign(new Error('x'), error));
    b.tabs.fail({ status: 0 });
    assert.deepEqual([a.links, b.links, c.links], [[], [error], [error]]);
});

test('a follower whose network is back has the leader ask at once', async () => {
    const [a, b, c] = await browser().join(3);
    b.tabs.wake(true);
    assert.deepEqual([a.wakes, b.wakes, c.wakes], [[false], [true], []]);
});

test('without locks or channel each tab asks for itself, shortly', async () => {
    for (const lacking of [{ locks: null }, { hasChannel: false }]) {
        const [a, b] = await browser(lacking).join(2);
        assert.deepEqual([a.pace(), b.pace()], [ALONE, ALONE]);
        a.seen = false;
        a.tabs.look();
        assert.equal(a.pace(), ALONE_UNSEEN);
        a.seen = true;
        a.tabs.look();
        assert.equal(a.pace(), ALONE);
        a.tabs.wake(false);
        assert.deepEqual([a.wakes, b.wakes], [[false], []]);
    }
});

test('where the lock is refused each tab asks for itself', async () => {
    const locks = { request: async () => {
        throw new DOMException('not here', 'SecurityError');
    } };
    const [a] = await browser({ locks }).join(1);
    assert.equal(a.pace(), ALONE);
});

test('where the channel is refused each tab asks for itself', async () => {
    const [a] = await browser({ refusesChannel: true }).join(1);
    assert.equal(a.pace(), ALONE);
    a.tabs.leave();
    a.tabs.join();
    assert.equal(a.pace(), ALONE);
});
