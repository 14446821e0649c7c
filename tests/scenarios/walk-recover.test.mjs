// walk-recover.test.mjs - single deaths and ends in order, each at a point of its
// own: what was under way, who is to blame, and what the client sees.

import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';

import { eventually } from '../support/harness.mjs';
import { textOf } from '../support/scripted-model.mjs';
import { assertCallsAnswered, assertSettled, shelf, started } from '../support/started.mjs';
import { Keeper } from '../support/walk.mjs';
import { BOUND } from '../support/patience.mjs';

/** An Aside whose asided is started again, with the next fault, whenever it dies. */
async function kept(t, conf = {}, more = {}) {
  const world = await started(t, conf, { runtime: false, ...more });
  const keeper = new Keeper(world.aside);
  const row = (id, column) => world.sql(`SELECT ${column} FROM run WHERE id = ${id.slice(4)}`);
  /** Kill the runtime at work, and wait for the next. */
  const die = async () => {
    await keeper.current.kill();
    await eventually(() => keeper.current.exit === null && /going on with/.test(keeper.current.log));
  };
  return { ...world, keeper, row, die };
}

test('R29 the Run that takes its runtime down is found; those beside it go on', BOUND, async (t) => {
  const w = await kept(t, { 'background.limit': 2 });
  const { model, keeper, research, send, whole, row } = w;
  const hold = async (req, reply) => {
    reply.text('so far ');
    await reply.hold('innocent');
    if (req.purpose === 'research') {
      reply.report('# Fine');
    } else {
      reply.text('fine').finish().usage().done();
    }
  };
  model.on('entry', hold);
  model.on('research', (req, reply) => textOf(req.body).includes('poison')
    ? reply.call(['fault_abort', {}]) : hold(req, reply));
  await keeper.begin([]);
  const good = [await research('the sea'), (await send('question')).run];
  await model.held('innocent');
  await model.held('innocent');
  const bad = await research('the poison');
  const end = await whole(bad.id);
  assert.deepEqual([end.run.state, end.run.reason], ['failed', 'crashed']);
  assert.equal(keeper.all.length, 4, 'it died three times');
  for (const run of good) {
    assert.deepEqual([await row(run.id, 'state'), await row(run.id, 'crashes')], ['running', '0']);
  }
  await eventually(async () => {
    model.holds.splice(0).forEach((held) => held.release());
    return await row(good[0].id, 'state') === 'completed' && await row(good[1].id, 'state') === 'completed';
  });
  const { run, requests } = (await w.run(good[0].id));
  assert.equal(run.answer.body, '# Fine');
  assert.equal(run.budget.tokens.unknown_requests, requests.filter((q) => q.state === 'unknown').length);
  await assertSettled(w.sql);
});

test('R29 a runtime that is killed from outside, however often, is nobody\'s fault', BOUND, async (t) => {
  const w = await kept(t);
  const { model, keeper, research, whole, row, die } = w;
  model.on('research', async (req, reply) => {
    reply.text('x');
    await reply.hold('held');
    reply.report('# R');
  });
  await keeper.begin([]);
  const r = await research('the sea');
  for (let i = 0; i < 5; i++) {
    await model.held('held');
    await die();
  }
  assert.equal(await row(r.id, 'crashes'), '0');
  (await model.held('held')).release();
  const end = await whole(r.id);
  assert.deepEqual(end.requests.map((q) => q.state), [...Array(5).fill('unknown'), 'done']);
  assert.equal(end.run.budget.requests.used, 6);
  await assertSettled(w.sql);
});

// google/adk-python discussion 8039: a payment runs twice after a crash
test('R29 D-8 what is not safe to repeat is done once, and the model is told', BOUND, async (t) => {
  const w = await kept(t, {}, { library: await shelf(t) });
  const { model, aside, keeper, research, whole } = w;
  const file = path.join(aside.dir, 'effects');
  aside.env.ASIDE_FAULT_FILE = file;
  model.on('research', (req, reply) => req.body.messages.some((m) => m.role === 'tool')
    ? reply.report('# Told') : reply.call(['fault_once', {}], ['library_search', { query: 'tides' }]));
  const done = [];
  // effects of a process: the request, then what is made alone, then the search
  for (const [fault, state] of [
    [{ ASIDE_FAULT_SEND: 'after:2' }, 'unknown'],
    [{ ASIDE_FAULT_SEND: 'after:3' }, 'done'],
    [{ ASIDE_FAULT_SEND: 'before:2' }, 'unknown'],
    [{}, 'done'],
  ]) {
    await keeper.begin([fault]);
    const had = (await readFile(file, 'utf8').catch(() => '')).length;
    const end = await whole((await research('the sea')).id);
    assert.equal(end.run.state, 'completed');
    const [once, search] = end.tool_calls;
    assert.deepEqual([once.name, once.state, search.state], ['fault_once', state, 'done']);
    const did = (await readFile(file, 'utf8').catch(() => '')).length - had;
    assert.ok(did <= 'done\n'.length, 'it was done twice');
    if (state === 'unknown') {
      const told = model.requests.at(-1).body.messages.filter((m) => m.role === 'tool');
      assert.match(told.find((m) => /unknown/.test(m.content))?.content ?? '', /not repeated/);
    } else {
      assert.equal(did, 'done\n'.length);
    }
    done.push(did > 0);
  }
  assert.ok(done[0], 'it never died after the effect and before the record');
  assertCallsAnswered(model);
  await assertSettled(w.sql);
});

// bytedance/deer-flow#1087, EmberAGI/arbitrum-vibekit#542, kestra-io/kestra#17759
test('D-1 C-11 H-5 killed with all slots taken: no ghosts, stop works, places are free again', BOUND, async (t) => {
  const w = await kept(t, { 'background.limit': 1, 'short.limit': 2 });
  const { model, aside, keeper, research, send, stop, whole, row, die, conv } = w;
  const hold = async (req, reply) => {
    reply.text('x');
    await reply.hold('held');
    if (req.purpose === 'research') {
      reply.report('# R');
    } else {
      reply.finish().usage().done();
    }
  };
  model.on('research', hold);
  model.on('entry', hold);
  await keeper.begin([]);
  for (let round = 0; round < 3; round++) {
    const r = await research(`the sea ${round}`);
    const shorts = [(await send('a')).run, (await send('b')).run];
    for (let i = 0; i < 3; i++) {
      await model.held('held');
    }
    await die();
    // orphans until now; each is the same Run, at work again
    assert.equal((await stop(r.id)).state, 'stopped');
    assert.equal((await stop(r.id)).state, 'stopped', 'a second time');
    const next = await research('another'); // its place is free at once
    assert.equal((await stop(shorts[0].id)).state, 'stopped');
    await aside.until((s) => s.runs.get(r.id)?.state === 'stopped');
    await stop(next.id);
    const full = await aside.api('GET', '/overview');
    assert.deepEqual(full.json.occupancy,
      { short: { used: 1, limit: 2 }, background: { used: 0, limit: 1 } });
    await eventually(async () => {
      model.holds.splice(0).forEach((held) => held.release());
      return await row(shorts[1].id, 'state') === 'completed';
    });
    const open = (await aside.api('GET', `/conversations/${conv}`)).json.runs
      .filter((x) => ['running', 'awaiting_input'].includes(x.state));
    assert.deepEqual(open, []);
    assert.ok((await whole(r.id)).requests.every((q) => ['unknown', 'interrupted', 'skipped'].includes(q.state)));
  }
  await assertSettled(w.sql);
});

// cloudflare/agents#1553, #1485, #1691
test('D-3 D-4 D-6 killed in mid-stream: the same Run, a new revision, no other answer touched', BOUND, async (t) => {
  const w = await kept(t);
  const { model, aside, keeper, send, whole, die } = w;
  await keeper.begin([]);
  const { run: first } = await send('turn one');
  assert.equal((await whole(first.id)).run.answer.body, 'A scripted answer.');
  for (const shown of [false, true]) { // before and after any text of it exists
    model.next('entry', async (req, reply) => {
      reply.head();
      if (shown) {
        reply.text('half of an ');
      }
      await reply.hold('turn two');
    });
    const client = aside.feed({ after: (await aside.api('GET', '/overview')).json.as_of });
    const { run: second } = await send('turn two');
    await model.held('turn two');
    if (shown) {
      await client.until((s) => s.answer(second.id) === 'half of an ');
    }
    await die();
    // one client, one cursor, across the death
    await client.until((s) => s.runs.get(second.id)?.state === 'completed');
    assert.equal(client.resets, 0);
    const end = await whole(second.id);
    assert.equal(client.state.answer(second.id), 'A scripted answer.');
    assert.equal(end.run.answer.body, 'A scripted answer.');
    assert.equal(end.run.answer.revision, shown ? 2 : 1);
    assert.deepEqual(end.requests.map((q) => q.state), ['unknown', 'done']);
    assert.equal(client.state.runs.size, 1, 'no further Run');
    assert.equal((await whole(first.id)).run.answer.body, 'A scripted answer.');
  }
  await assertSettled(w.sql);
});

// cloudflare/agents#2042
test('D-5 a model that falls silent: tried again, or ended, and the poll tells', BOUND, async (t) => {
  const w = await kept(t, { 'model.silence_timeout_ms': 700 });
  const { model, keeper, research, send, whole } = w;
  await keeper.begin([]);
  model.next('research', async (req, reply) => {
    reply.text('x');
    await reply.hold('for ever');
  });
  model.next('entry', async (req, reply) => {
    reply.text('half');
    await reply.hold('for ever');
  });
  const r = await research('the sea');
  const { run: s } = await send('question');
  const short = await whole(s.id); // it waits on the long poll alone
  assert.deepEqual([short.run.state, short.run.reason, short.run.answer.body], ['failed', 'provider_error', 'half']);
  const deep = await whole(r.id);
  assert.deepEqual([deep.run.state, ...deep.requests.map((q) => q.state)], ['completed', 'failed', 'done']);
  await assertSettled(w.sql);
});

// code-yeongyu/oh-my-openagent#3448, anthropics/claude-code#85534
test('D-9 the commit that tells of an end fails or is lost: it is told once, by the next', BOUND, async (t) => {
  const w = await kept(t);
  const { aside, keeper, research, whole } = w;
  for (const kind of ['fail', 'before', 'abort']) {
    for (const n of [3, 4]) { // the lease, then "sent", the first chunk, the end
      await keeper.begin([{ ASIDE_FAULT_COMMIT: `${kind}:${n}` }]);
      const r = await research('the sea');
      assert.equal((await whole(r.id)).run.state, 'completed');
      const told = await aside.until((s) => {
        const list = [...s.notifications.values()].filter((x) => x.run_id === r.id);
        return list.length > 0 && list;
      });
      assert.equal(told.length, 1);
    }
  }
  await assertSettled(w.sql);
});
