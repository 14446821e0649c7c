/** The long poll: one at a time, and one place that schedules the next. */
import assert from 'node:assert/strict';
import { test } from 'node:test';

import { createFeed } from '../../static/js/feed.js';
import { ALONE_UNSEEN, LEADING, LISTENING, backoff,
} from '../../static/js/pace.js';

/** A feed whose server and clock are in the test's hands. */
function setUp({ accept = () => true, pace = LEADING } = {}) {
    const polls = [];
    const replies = [];
    const told = [];
    const timers = [];
    const links = [];
    let time = 0;
    const feed = createFeed({
        poll: (after, wait, signal) => new Promise((resolve, reject) => {
            polls.push({ after, wait, resolve, reject });
            signal.addEventListener('abort', () => reject(new Error('gone')));
        }),
        onReply: (reply) => {
            replies.push(reply);
            return accept(reply);
        },
        onPolled: (after, reply) => told.push([after, reply.next]),
        onLink: (error) => links.push(error),
        setTimer: (run, ms) => {
            const timer = { run, ms, off: false };
            timers.push(timer);
            return timer;
        },
        clearTimer: (timer) => { timer.off = true; },
        random: () => 0.5,
        now: () => time,
    });
    feed.setPace(pace);
    const settle = () => new Promise((done) => setImmediate(done));
    return {
        feed, polls, timers, links, replies, told,
        seen: () => replies.flatMap((r) => r.changes.map((c) => c.seq)),
        pass: (ms) => { time += ms; },
        /** Answer the newest poll, and let the feed take it in. */
        async answer(reply) {
            polls.at(-1).resolve({ changes: [], reset: false, feed: 'f',
                ...reply });
            await settle();
        },
        async fail(error = new Error('network')) {
            polls.at(-1).reject(error);
            await settle();
        },
        /** Run the timer that was set last. */
        fire() {
            const timer = timers.at(-1);
            assert.equal(timer.off, false);
            timer.run();
            return timer.ms;
        },
        settle,
    };
}

test('the cursor starts at the read and moves only by next', async () => {
    const t = setUp();
    t.feed.start(7, 'f');
    assert.deepEqual([t.polls[0].after, t.polls[0].wait], [7, 50]);
    await t.answer({ changes: [{ seq: 8 }, { seq: 9 }], next: 12 });
    assert.equal(t.polls[1].after, 12);
    await t.fail();
    t.fire();
    assert.equal(t.polls[2].after, 12);
});

test('one poll at a time, and the next at once, without a timer', async () => {
    const t = setUp();
    t.feed.start(0, 'f');
    t.feed.wake(false);
    assert.equal(t.polls.length, 1);
    await t.answer({ changes: [{ seq: 1 }], next: 1 });
    assert.equal(t.polls.length, 2);
    assert.deepEqual(t.timers, []);
});

test('failures in a row wait longer, and ask without hold', async () => {
    const t = setUp();
    t.feed.start(0, 'f');
    const waits = [];
    for (let i = 0; i < 4; i += 1) {
        await t.fail();
        waits.push(t.fire());
    }
    assert.deepEqual(waits, [375, 750, 1500, 3000]);
    assert.equal(t.polls.at(-1).wait, 0);
    assert.ok(t.links.every((error) => error !== null));
    await t.answer({ next: 0 });
    assert.equal(t.links.at(-1), null);
    assert.equal(t.polls.at(-1).wait, 50);
});

test('the back-off is bounded and spread', () => {
    assert.equal(backoff(1, 0), 250);
    assert.equal(backoff(1, 1), 500);
    assert.equal(backoff(60, 1), 30_000);
    assert.equal(backoff(60, 0), 15_000);
});

test('a wish of the server to wait is kept', async () => {
    const t = setUp();
    t.feed.start(0, 'f');
    await t.fail(Object.assign(new Error('busy'), { retryAfterMs: 9000 }));
    assert.equal(t.timers.at(-1).ms, 9000);
});

test('a wish to wait for longer than a timer can is bounded', async () => {
    const t = setUp();
    t.feed.start(0, 'f');
    await t.fail(Object.assign(new Error('busy'), { retryAfterMs: 2 ** 32 }));
    assert.equal(t.timers.at(-1).ms, 60_000);
});

test('waking ends a back-off at once', async () => {
    const t = setUp();
    t.feed.start(3, 'f');
    await t.fail();
    t.feed.wake(false);
    assert.equal(t.timers.at(-1).off, true);
    assert.equal(t.polls.length, 2);
});

test('a poll that is given up is no failure', async () => {
    const t = setUp();
    t.feed.start(3, 'f');
    t.feed.wake(true);
    await t.settle();
    assert.deepEqual(t.links, []);
    // The page must soon know whether the server is there.
    assert.deepEqual([t.polls.length, t.polls[1].wait], [2, 0]);
    await t.answer({ next: 3 });
    assert.deepEqual([t.polls.length, t.polls[2].wait], [3, 50]);
});

test('reset stops the feed until it is started anew', async () => {
    const t = setUp({ accept: (reply) => !reply.reset });
    t.feed.start(99, 'f');
    await t.answer({ reset: true, next: 4 });
    assert.equal(t.timers.length, 0);
    t.feed.wake(true);
    assert.equal(t.polls.length, 1);
    t.feed.start(4, 'f');
    assert.equal(t.polls[1].after, 4);
});

test('an answer to a poll of before a new start is not listened to', async () => {
    const seen = [];
    const t = setUp({ accept: (reply) => seen.push(reply.next) > 0 });
    t.feed.start(1, 'f');
    const old = t.polls[0];
    t.feed.start(50, 'f');
    old.resolve({ changes: [], next: 2, reset: false, feed: 'f' });
    await t.settle();
    assert.deepEqual(seen, []);
    assert.equal(t.timers.length, 0);
});

test('a server that does not hold is not asked in a tight loop', async () => {
    const t = setUp();
    t.feed.start(0, 'f');
    await t.answer({ next: 0 });
    assert.equal(t.fire(), 1000);
    t.pass(50_000);
    await t.answer({ next: 0 });
    assert.equal(t.polls.length, 3);
});

// --- what other tabs hand on ---------------------------------------------------

const reply = (next, seqs, fields = {}) => ({ next, feed: 'f', reset: false,
    changes: seqs.map((seq) => ({ seq })), ...fields });

/** One that listens, and has asked for what it may have missed. */
async function listening(options = {}) {
    const t = setUp({ pace: LISTENING, ...options });
    t.feed.start(10, 'f');
    assert.deepEqual([t.polls[0].after, t.polls[0].wait], [10, 0]);
    await t.answer({ next: 10 });
    return t;
}

test('who listens asks once, and then no more', async () => {
    const t = await listening();
    assert.equal(t.polls.length, 1);
    assert.deepEqual(t.timers, []);
    assert.deepEqual(t.links, [null]);
});

test('what is handed on is taken once, from the own cursor', async () => {
    const t = await listening();
    t.feed.take(10, reply(12, [11, 12]));
    t.feed.take(10, reply(12, [11, 12]));
    t.feed.take(8, reply(14, [9, 11, 13, 14]));
    t.feed.take(3, reply(5, [4, 5]));
    assert.deepEqual(t.seen(), [11, 12, 13, 14]);
    assert.equal(t.polls.length, 1);
});

test('I-8 after a gap it asks for what it lacks, and loses nothing', async () => {
    const t = await listening();
    t.feed.take(15, reply(16, [16]));
    assert.deepEqual(t.seen(), []);
    assert.deepEqual([t.polls[1].after, t.polls[1].wait], [10, 0]);
    // Meanwhile the other goes on; that does not join either.
    t.feed.take(16, reply(17, [17]));
    await t.answer({ changes: [{ seq: 12 }, { seq: 16 }], next: 16 });
    t.feed.take(17, reply(18, [18]));
    await t.answer({ changes: [{ seq: 17 }, { seq: 18 }], next: 18 });
    t.feed.take(18, reply(19, [19]));
    assert.deepEqual(t.seen(), [12, 16, 17, 18, 19]);
    assert.equal(t.polls.length, 3);
});

test('a reply that was cut is asked on from, until nothing comes', async () => {
    const t = setUp({ pace: LISTENING });
    t.feed.start(0, 'f');
    await t.answer({ changes: [{ seq: 1 }], next: 1 });
    assert.equal(t.fire(), LISTENING.pause);
    assert.equal(t.polls[1].after, 1);
    await t.answer({ next: 1 });
    assert.equal(t.polls.length, 2);
    assert.equal(t.timers.length, 1);
});

test('a reply that joins makes further questions needless', async () => {
    const t = setUp({ pace: LISTENING });
    t.feed.start(0, 'f');
    t.feed.take(0, reply(2, [1, 2]));
    await t.answer({ changes: [{ seq: 1 }, { seq: 2 }], next: 2 });
    assert.deepEqual(t.seen(), [1, 2]);
    assert.deepEqual([t.polls.length, t.timers.length], [1, 0]);
});

test('a reset of another tab is not obeyed, but looked into', async () => {
    const t = await listening({ accept: (r) => !r.reset });
    t.feed.take(99, reply(4, [], { reset: true }));
    assert.equal(t.replies.length, 1);
    await t.answer({ next: 10 });
    t.feed.take(10, reply(3, [3], { feed: 'g' }));
    assert.deepEqual(t.seen(), []);
    assert.equal(t.polls.length, 3);
    // Its own cursor is of no use either: all is read again.
    await t.answer({ reset: true, next: 3, feed: 'g' });
    t.feed.start(3, 'g');
    assert.equal(t.polls.at(-1).after, 3);
    t.feed.take(3, reply(4, [4], { feed: 'g' }));
    assert.deepEqual(t.seen(), [4]);
});

test('a follower that fails tries again until it is in step', async () => {
    const t = setUp({ pace: LISTENING });
    t.feed.start(10, 'f');
    await t.fail();
    assert.equal(t.timers.length, 1);
    t.fire();
    await t.answer({ next: 10 });
    assert.equal(t.links.at(-1), null);
    assert.equal(t.timers.length, 1);
});

test('who takes the lead goes on from its own cursor and hands on', async () => {
    const t = await listening();
    t.feed.take(10, reply(12, [11, 12]));
    t.told.length = 0;
    // The one before may have had trouble: first see that the server is there.
    t.feed.setPace(LEADING);
    assert.deepEqual([t.polls[1].after, t.polls[1].wait], [12, 0]);
    await t.answer({ changes: [{ seq: 13 }], next: 13 });
    assert.deepEqual(t.told, [[12, 13]]);
    assert.deepEqual([t.polls[2].after, t.polls[2].wait], [13, 50]);
    // Replaced, it gives its poll up and asks what it may have missed.
    t.feed.setPace(LISTENING);
    await t.settle();
    assert.deepEqual([t.polls[3].after, t.polls[3].wait], [13, 0]);
    assert.deepEqual(t.links.filter((error) => error), []);
});

test('a poll that is not held is not given up for another pace', async () => {
    const t = setUp({ pace: LISTENING });
    t.feed.start(5, 'f');
    t.feed.setPace(LEADING);
    assert.equal(t.polls.length, 1);
    await t.answer({ next: 5 });
    assert.deepEqual([t.polls.length, t.polls[1].wait], [2, 50]);
});

test('alone and unseen it asks now and then, without hold', async () => {
    const t = setUp({ pace: ALONE_UNSEEN });
    t.feed.start(0, 'f');
    await t.answer({ next: 0 });
    assert.equal(t.fire(), ALONE_UNSEEN.pause);
    assert.equal(t.polls[1].wait, 0);
    t.feed.setPace(null);
    await t.settle();
    t.feed.wake(true);
    assert.equal(t.polls.length, 2);
    assert.deepEqual(t.links, [null]);
});
