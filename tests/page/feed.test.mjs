/** The long poll: one at a time, and one place that schedules the next. */
import assert from 'node:assert/strict';
import { test } from 'node:test';

import { backoff, createFeed } from '../../static/js/feed.js';

/** A feed whose server and clock are in the test's hands. */
function setUp({ accept = () => true } = {}) {
    const polls = [];
    const timers = [];
    const links = [];
    let time = 0;
    const feed = createFeed({
        poll: (after, wait, signal) => new Promise((resolve, reject) => {
            polls.push({ after, wait, resolve, reject });
            signal.addEventListener('abort', () => reject(new Error('gone')));
        }),
        onReply: accept,
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
    const settle = () => new Promise((done) => setImmediate(done));
    return {
        feed, polls, timers, links,
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
    t.feed.start(7);
    assert.deepEqual([t.polls[0].after, t.polls[0].wait], [7, 50]);
    await t.answer({ changes: [{ seq: 8 }, { seq: 9 }], next: 12 });
    assert.equal(t.fire(), 0);
    assert.equal(t.polls[1].after, 12);
    await t.fail();
    t.fire();
    assert.equal(t.polls[2].after, 12);
});

test('one poll at a time, one timer for the next', async () => {
    const t = setUp();
    t.feed.start(0);
    t.feed.wake(false);
    assert.equal(t.polls.length, 1);
    await t.answer({ changes: [{ seq: 1 }], next: 1 });
    assert.equal(t.timers.length, 1);
    t.fire();
    assert.equal(t.polls.length, 2);
});

test('failures in a row wait longer, and ask without hold', async () => {
    const t = setUp();
    t.feed.start(0);
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
    t.fire();
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
    t.feed.start(0);
    await t.fail(Object.assign(new Error('busy'), { retryAfterMs: 9000 }));
    assert.equal(t.timers.at(-1).ms, 9000);
});

test('waking ends a back-off at once', async () => {
    const t = setUp();
    t.feed.start(3);
    await t.fail();
    t.feed.wake(false);
    assert.equal(t.timers.at(-1).off, true);
    assert.equal(t.polls.length, 2);
});

test('a poll that is given up is no failure', async () => {
    const t = setUp();
    t.feed.start(3);
    t.feed.wake(true);
    await t.settle();
    assert.deepEqual(t.links, []);
    assert.equal(t.fire(), 0);
    assert.equal(t.polls[1].wait, 50);
});

test('reset stops the feed until it is started anew', async () => {
    const t = setUp({ accept: (reply) => !reply.reset });
    t.feed.start(99);
    await t.answer({ reset: true, next: 4 });
    assert.equal(t.timers.length, 0);
    t.feed.wake(true);
    assert.equal(t.polls.length, 1);
    t.feed.start(4);
    assert.equal(t.polls[1].after, 4);
});

test('an answer to a poll of before a new start is not listened to', async () => {
    const seen = [];
    const t = setUp({ accept: (reply) => seen.push(reply.next) > 0 });
    t.feed.start(1);
    const old = t.polls[0];
    t.feed.start(50);
    old.resolve({ changes: [], next: 2, reset: false, feed: 'f' });
    await t.settle();
    assert.deepEqual(seen, []);
    assert.equal(t.timers.length, 0);
});

test('a server that does not hold is not asked in a tight loop', async () => {
    const t = setUp();
    t.feed.start(0);
    await t.answer({ next: 0 });
    assert.equal(t.fire(), 1000);
    t.pass(50_000);
    await t.answer({ next: 0 });
    assert.equal(t.timers.at(-1).ms, 0);
});
