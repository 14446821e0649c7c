/** The store kept in step, while the server says odd things or all is read anew. */
import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';

for (const [name, value] of Object.entries({ navigator: {},
    document: { visibilityState: 'visible' } })) {
    Object.defineProperty(globalThis, name, { value, configurable: true });
}
/** @type {unknown[]} */
const faults = [];
globalThis.reportError = (error) => faults.push(error);

const { Store } = await import('../../static/js/store.js');
const { Sync } = await import('../../static/js/sync.js');
const { answer, conversation, message, page, part, run, runRead, updated,
} = await import('./things.mjs');

/** What the server has, by path; a function is asked for it.
 *  @type {Record<string, any>} */
let server = {};
/** @type {string[]} */
let asked = [];
/** @type {((reply: any) => void)[]} */
let polls = [];

globalThis.fetch = /** @type {any} */ (async (url, { signal }) => {
    const path = url.href.split('/api/v1/')[1];
    asked.push(path);
    if (path.startsWith('changes')) {
        return Response.json(await new Promise((done, fail) => {
            polls.push(done);
            signal.addEventListener('abort', () => fail(new Error('gone')));
        }));
    }
    const known = Object.entries(server).find(([name]) => path.startsWith(name));
    return known ? Response.json(typeof known[1] === 'function'
        ? known[1](path) : known[1]) : new Response('{}', { status: 404 });
});

const settle = async () => {
    for (let i = 0; i < 30; i += 1) {
        await new Promise(setImmediate);
    }
};

/** @param {any[]} runs */
const overview = (runs) => ({ as_of: 10, feed: 'f', account: 'me',
    conversations: [conversation()], runs });

/** A page that shows conv_1. @param {any} first  the overview */
async function started(first) {
    /** @type {string[]} */
    const news = [];
    const store = new Store();
    const sync = new Sync(store, (all) => news.push(...all.map((n) =>
        (n.kind === 'run' ? `${n.run.id} ${n.run.state}` : n.handoff.id))));
    sync.current = 'conv_1';
    server.overview = first;
    server['conversations/conv_1'] ??= page(10);
    await sync.restart();
    await settle();
    return { store, sync, news,
        async tell(reply) {
            polls.pop()?.({ changes: [], next: 10, reset: false, feed: 'f',
                ...reply });
            await settle();
        } };
}

beforeEach(() => {
    server = { health: { status: 'ok', runtime: 'ok', model: 'ok' } };
    asked = [];
    polls = [];
    faults.length = 0;
});

test('a change that is not what it should be is left out, and its Run read', async (t) => {
    const p = await started(overview([run({ kind: 'research' })]));
    t.after(() => p.sync.tabs.leave());
    const good = run({ kind: 'research', title: 'Tea', answer: answer(1, 1, 'x') });
    server['runs/run_1'] = runRead(30, good);
    for (const [i, odd] of [{ run: 7 }, { run: [] }, { run: { id: 'run_1' } },
        { run: { ...good, answer: null } }, { run: { ...good, coverage: {} } },
        { run: { ...good, budget: { tokens: 1 } } }].entries()) {
        asked = [];
        await p.tell({ next: 12 + i, changes: [{ seq: 12 + i,
            kind: 'run.updated', run_id: 'run_1', conversation_id: 'conv_1',
            ...odd }] });
        assert.deepEqual(asked, ['runs/run_1',
            `changes?after=${12 + i}&wait=5`], JSON.stringify(odd));
        assert.equal(p.store.run('run_1').title, 'Tea');
    }
    await p.tell({ next: 40, changes: [
        { seq: 31, kind: 'answer.part', run_id: 'run_1', part: '2' }, null, 5, {},
        { seq: 32, kind: 'message.created', conversation_id: 'conv_1',
            message: { id: 4 } },
        part(33, 2, 'y')] });
    assert.equal(p.store.texts.peek('run_1').body, 'xy', 'the good one is taken');
    assert.ok(asked.includes('conversations/conv_1?limit=50'));
    assert.deepEqual(faults, []);
});

test('a reply that is none is asked for again, and the feed goes on', async (t) => {
    const real = globalThis.setTimeout;
    globalThis.setTimeout = /** @type {any} */ ((step, ms, ...more) =>
        real(step, ms > 5000 ? ms : 0, ...more));
    t.after(() => { globalThis.setTimeout = real; });
    const p = await started(overview([run()]));
    t.after(() => p.sync.tabs.leave());
    for (const odd of [{ changes: 5 }, { changes: null }, { next: 'x' },
        { feed: null }]) {
        await p.tell(odd);
        assert.equal(p.sync.link.value.state, 'reconnecting');
        for (let i = 0; i < 100 && polls.length === 0; i += 1) {
            await settle();
        }
        assert.match(asked.at(-1), /^changes\?after=10/);
    }
    await p.tell({ next: 12, changes: [updated(12, run({ state: 'completed',
        ended_at: 5 }))] });
    assert.equal(p.store.run('run_1').state, 'completed');
    assert.equal(p.sync.link.value.state, 'live');
});

test('what goes wrong in the page does not end the feed', async (t) => {
    const p = await started(overview([run()]));
    t.after(() => p.sync.tabs.leave());
    const { onNews } = p.store;
    p.store.onNews = () => { throw new Error('in drawing'); };
    await p.tell({ next: 12, changes: [updated(12, run())] });
    p.store.onNews = onNews;
    assert.equal(faults.length, 1);
    await p.tell({ next: 13, changes: [updated(13, run({ state: 'completed',
        ended_at: 5 }))] });
    assert.equal(p.store.run('run_1').state, 'completed');
});

test('R32 a research that ended while all was read anew is told, once', async (t) => {
    const both = [run({ kind: 'research' }), run({ id: 'run_2' }),
        run({ id: 'run_3', conversation_id: 'conv_2' })];
    const p = await started(overview(both));
    t.after(() => p.sync.tabs.leave());
    server.overview = overview([both[1]]);
    server['runs/run_1'] = runRead(20, { ...both[0], state: 'completed',
        ended_at: 9, answer: answer(1, 1, 'It is so.') });
    await p.tell({ reset: true });
    assert.deepEqual(p.news, ['run_1 completed'], 'run_3 is gone');
    await p.tell({ reset: true });
    assert.deepEqual(p.news, ['run_1 completed']);
});

test('all research of a conversation is read, page by page, and again after a '
    + 'failure', async (t) => {
    const p = await started(overview([]));
    t.after(() => p.sync.tabs.leave());
    const of = (n) => run({ id: `run_${n}`, kind: 'research', message_id: `msg_${n}`,
        state: 'completed', ended_at: 5 });
    server['runs?kind=research'] = (path) => (path.includes('before=run_3')
        ? { as_of: 10, feed: 'f', runs: [of(2)], has_more: false }
        : { as_of: 10, feed: 'f', runs: [of(4), of(3)], has_more: true });
    await p.sync.researches.read('conv_1');
    assert.deepEqual(p.store.researchIn.peek('conv_1'), ['run_4', 'run_3', 'run_2']);
    const before = asked.length;
    await p.sync.researches.read('conv_1');
    assert.equal(asked.length, before, 'once');

    server = {};
    await p.sync.researches.read('conv_2');
    server['runs?kind=research'] = { as_of: 11, feed: 'f', has_more: false,
        runs: [run({ id: 'run_9', kind: 'research', conversation_id: 'conv_2' })] };
    p.sync.researches.again();
    await settle();
    assert.deepEqual(p.store.researchIn.peek('conv_2'), ['run_9']);
});

test('what tools depend on is asked for anew when somebody looks, or something is missing', async (t) => {
    const tool = (state) => ({ kind: 'mcp', name: 'files', state, detail: '',
        tools: 2, changed_at: 1 });
    const none = await started(overview([]));
    t.after(() => none.sync.tabs.leave());
    const before = asked.length;
    await none.sync.readTools();
    assert.deepEqual(asked.slice(before), []); // nothing is configured
    assert.deepEqual(none.store.tools.value, []);

    const p = await started({ ...overview([]), tools: [tool('unreachable')] });
    t.after(() => p.sync.tabs.leave());
    assert.equal(p.store.tools.value[0].state, 'unreachable');
    server.overview = { ...overview([]), tools: [tool('ok')] };
    const real = Date.now;
    const reads = () => asked.filter((path) => path === 'overview').length;
    try {
        const now = real();
        Date.now = () => now + 60_000;
        let n = reads();
        p.sync.tick();
        await settle();
        assert.equal(p.store.tools.value[0].state, 'ok');
        assert.equal(reads(), n + 1);
        n = reads();
        Date.now = () => now + 120_000;
        p.sync.tick(); // all is well, and nobody asks
        await settle();
        assert.equal(reads(), n);
    } finally {
        Date.now = real;
    }
    server.overview = { ...overview([]), tools: [tool('unauthorized')] };
    await p.sync.readTools();
    assert.equal(p.store.tools.value[0].state, 'unauthorized');
});
