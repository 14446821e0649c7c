// attack-life.test.mjs - time, places, stops and adjustments at awkward moments.

import assert from 'node:assert/strict';
import { chmod, copyFile, readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';

import { bin, lookForLeaks, temporaryDir } from '../support/harness.mjs';
import { assertCallsAnswered, assertSettled, shelf, started } from '../support/started.mjs';
import { BOUND } from '../support/patience.mjs';

lookForLeaks();

const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** Is this a research request on that requirement? */
const about = (q, words) => q.purpose === 'research' &&
  q.body.messages.some((m) => /^\[requirement/.test(m.content) && m.content.endsWith(words));

/** asided beside an indexer that takes as long as the test wants. */
async function slowIndexer(t, seconds) {
  const dir = await temporaryDir();
  t.after(() => rm(dir, { recursive: true, force: true }));
  await copyFile(bin('asided'), path.join(dir, 'asided'));
  await writeFile(path.join(dir, 'aside'), `#!/bin/sh\nexec sleep ${seconds}\n`);
  await chmod(path.join(dir, 'aside'), 0o755);
  return path.join(dir, 'asided');
}

/** Processor time of a process in ms. */
async function ticks(pid) {
  const fields = (await readFile(`/proc/${pid}/stat`, 'utf8')).split(') ')[1].split(' ');
  return (Number(fields[11]) + Number(fields[12])) * 10;
}

test('R28 waiting for the person stops the clock', BOUND, async (t) => {
  const { model, aside, research, say, whole } = await started(t, { 'budget.normal.seconds': 3 });
  model.next('research', (req, reply) => reply.call(['ask_user', { question: 'Which sea?' }]));
  const r = await research('the sea');
  await aside.until((s) => s.runs.get(r.id)?.state === 'awaiting_input');
  await sleep(3500);
  await say(r.id, 'the North Sea', 'reply');
  const end = await whole(r.id);
  assert.equal(end.run.state, 'completed', end.run.reason);
  assert.ok(end.run.budget.seconds.used < 3, `${end.run.budget.seconds.used} s`);
});

test('R26 retries are requests: a limit of N executes exactly N', BOUND, async (t) => {
  const { model, research, whole } = await started(t, { 'budget.normal.requests': 2 });
  model.on('research', (req, reply) => reply.text('half').cut());
  const end = await whole((await research('the sea')).id);
  assert.equal(end.run.state, 'incomplete');
  assert.equal(end.run.reason, 'budget_requests');
  assert.deepEqual(end.requests.map((q) => q.purpose), ['research', 'closeout']);
});

test('R27 waits for a busy provider are no failed tries', BOUND, async (t) => {
  const { model, research, whole } = await started(t);
  for (let i = 0; i < 5; i++) {
    model.next('research', (req, reply) => reply.status(429, { 'retry-after': '0' }));
  }
  model.next('research', (req, reply) => reply.text('half').cut());
  const end = await whole((await research('the sea')).id);
  assert.equal(end.run.state, 'completed');
  assert.equal(end.requests.length, 7);
  assert.equal(end.run.budget.requests.used, 2);
});

test('R27 an adjustment does not shorten the wait that the provider asked for', BOUND, async (t) => {
  const { model, aside, research, say, whole } = await started(t);
  model.next('research', (req, reply) => reply.status(429, { 'retry-after': '4' }));
  const r = await research('the sea');
  await aside.until((s) => s.runs.get(r.id)?.phase === 'waiting_for_provider');
  await say(r.id, 'and salt');
  const end = await whole(r.id);
  assert.deepEqual(end.requests.map((q) => [q.state, q.cause]),
    [['failed', null], ['skipped', 'adjustment'], ['done', null]]);
  assert.ok(end.requests[2].sent_at - end.requests[0].ended_at >= 3990);
  assert.equal(end.handoffs[0].state, 'handed');
});

test('R20 one place is kept from research, and research is not starved by one short answer', BOUND, async (t) => {
  const { model, send, research, whole } = await started(t,
    { 'model.max_concurrent': 2, 'background.limit': 2 });
  model.on('research', async (req, reply) => {
    reply.text('x');
    await reply.hold('research');
    reply.report('# R');
  });
  model.on('entry', async (req, reply) => {
    await reply.hold('entry');
    reply.answer('yes');
  });
  const short = await send('question');
  const asked = await model.held('entry');
  const one = await research('the sea');
  const first = await model.held('research');
  const two = await research('the sky');
  asked.release();
  await whole(short.run.id);
  await sleep(300);
  assert.equal(model.requests.filter((q) => q.purpose === 'research').length, 1);
  first.release();
  await whole(one.id);
  (await model.held('research')).release();
  await whole(two.id);
});

test('R20 many Runs at two places: short ones first, nobody is forgotten', BOUND, async (t) => {
  const { model, aside, sql } = await started(t,
    { 'model.max_concurrent': 2, 'short.limit': 40, 'background.limit': 10 });
  let busy = 0;
  let most = 0;
  const order = [];
  const slow = (what) => async (req, reply) => {
    busy++;
    most = Math.max(most, busy);
    order.push(req.purpose);
    await sleep(20);
    busy--;
    what(reply);
  };
  model.on('entry', slow((reply) => reply.answer('yes')));
  model.on('research', slow((reply) => reply.report('# R')));
  const conv = async () => (await aside.api('POST', '/conversations', {})).json.conversation.id;
  const convs = await Promise.all([conv(), conv(), conv()]);
  const sent = await Promise.all(Array.from({ length: 40 }, (_, i) => aside.api('POST',
    `/conversations/${convs[i % 3]}/messages`, { body: `m${i}`, mode: i % 4 === 0 ? 'background' : 'auto' })));
  const ids = sent.map((r) => {
    assert.equal(r.status, 202, r.text);
    return r.json.run.id;
  });
  await aside.until((s) => ids.every((id) => s.runs.get(id)?.state === 'completed'), { what: 'all completed' });
  assert.ok(most <= 2, `${most} at once`);
  assert.equal(order.length, 40);
  await assertSettled(sql);
});

test('R20 with one place, a research hands it over between its requests', BOUND, async (t) => {
  const { model, send, research, whole } = await started(t,
    { 'model.max_concurrent': 1, 'background.limit': 2 });
  const order = [];
  for (let i = 0; i < 3; i++) {
    model.next((q) => about(q, 'the sea'), async (req, reply) => {
      order.push('sea');
      reply.text('x');
      await reply.hold('sea');
      reply.call(['note', { text: 'x' }]);
    });
  }
  model.on((q) => about(q, 'the sky'), (req, reply) => {
    order.push('sky');
    reply.report('# Sky');
  });
  model.on('entry', (req, reply) => {
    order.push('short');
    reply.answer('yes');
  });
  const sea = await research('the sea');
  const first = await model.held('sea');
  const sky = await research('the sky');
  const short = (await send('question')).run;
  first.release();
  await whole(short.id);
  assert.deepEqual(order.slice(0, 2), ['sea', 'short']);
  for (let i = 0; i < 2; i++) {
    (await model.held('sea')).release();
  }
  await whole(sky.id);
  await whole(sea.id);
  assert.equal(order[2], 'sky');
});

test('R26 the deadline also ends a wait for tools, without spinning', BOUND, async (t) => {
  const asided = await slowIndexer(t, 20);
  const { model, aside, research, whole, sql } = await started(t,
    { 'budget.normal.seconds': 2 }, { programs: { asided }, library: await shelf(t) });
  model.next('research', (req, reply) => reply.call(['library_search', { query: 'tides' }]));
  const r = await research('the sea');
  await aside.until((s) => [...s.toolCalls.values()].some((c) => c.state === 'sent'));
  const before = await ticks(aside.part('asided').pid);
  const end = await whole(r.id);
  const used = await ticks(aside.part('asided').pid) - before;
  assert.equal(end.run.state, 'incomplete');
  assert.equal(end.run.reason, 'deadline');
  assert.equal(end.tool_calls[0].state, 'interrupted');
  assert.equal(end.tool_calls[0].cause, 'deadline');
  assert.deepEqual(end.requests.map((q) => q.purpose), ['research', 'closeout']);
  assert.ok(used < 600, `${used} ms of processor time`);
  assertCallsAnswered(model);
  await assertSettled(sql);
});

test('R26 a closeout that finds no place in its time is lost, not awaited', BOUND, async (t) => {
  const { model, aside, research, send, stop, whole, sql } = await started(t,
    { 'budget.normal.seconds': 4, 'model.max_concurrent': 1 });
  model.next('research', (req, reply) => reply.call(['note', { text: 'the moon pulls' }]));
  model.next('entry', async (req, reply) => {
    reply.text('x');
    await reply.hold('short');
  });
  model.next('research', async (req, reply) => {
    reply.text('x');
    await reply.hold('research');
  });
  const r = await research('the sea');
  await model.held('research');
  const short = await send('hold the only place');
  await model.held('short'); // freed when the research is cut at its deadline
  const before = await ticks(aside.part('asided').pid);
  const end = await whole(r.id);
  assert.equal(end.run.reason, 'deadline');
  assert.match(end.run.answer.body, /the moon pulls/);
  assert.ok(await ticks(aside.part('asided').pid) - before < 500);
  await stop(short.run.id);
  await aside.until((s) => s.changes.some((c) => c.request?.run_id === short.run.id && c.request.state === 'interrupted'));
  await assertSettled(sql);
});

test('R21 R22 adjustments while tools are in flight get 2 s, then a result', BOUND, async (t) => {
  const asided = await slowIndexer(t, 20);
  const { model, aside, research, say, whole, sql } = await started(t, {},
    { programs: { asided }, library: await shelf(t) });
  model.next('research', (req, reply) => reply.call(
    ['library_search', { query: 'tides' }], ['library_search', { query: 'salt' }]));
  const r = await research('the sea');
  await aside.until((s) => [...s.toolCalls.values()].filter((c) => c.state === 'sent').length === 2);
  const at = Date.now();
  await say(r.id, 'and salt');
  const end = await whole(r.id);
  assert.ok(Date.now() - at >= 1900);
  assert.deepEqual(end.tool_calls.slice(0, 2).map((c) => [c.state, c.cause]),
    [['interrupted', 'adjustment'], ['interrupted', 'adjustment']]);
  assert.equal(end.run.state, 'completed');
  assert.equal(end.run.coverage.length, 2);
  assertCallsAnswered(model);
  await assertSettled(sql);
});

test('R22 adjustments at every moment: each is handed or told, none is completed past', BOUND, async (t) => {
  const { model, research, say, whole, sql } = await started(t, {}, { library: await shelf(t) });
  for (let delay = 0; delay < 160; delay += 10) {
    model.next('research', async (req, reply) => {
      reply.text('I search.');
      await sleep(15);
      reply.call(['library_search', { query: 'tides' }], ['note', { text: 'x' }]);
    });
    model.next('research', async (req, reply) => {
      await sleep(15);
      reply.report('# First');
    });
    const r = await research('the sea');
    await sleep(delay);
    const { handoff, message } = await say(r.id, `and salt ${delay}`);
    const end = await whole(r.id);
    const h = end.handoffs.find((x) => x.id === handoff.id);
    if (h.state === 'handed') {
      assert.ok(end.run.coverage.some((c) => c.id === message.id || c.id === handoff.id), `delay ${delay}`);
      const input = end.requests.find((q) => q.id === h.request_id);
      assert.notEqual(input.state, 'planned');
    } else {
      assert.equal(h.state, 'not_applied', `delay ${delay}`);
      assert.ok(handoff.state === 'not_applied', `received, then dropped by an end: delay ${delay}`);
    }
    assert.equal(end.run.state, 'completed', `delay ${delay}: ${end.run.reason}`);
    model.once.length = 0;
  }
  assertCallsAnswered(model);
  await assertSettled(sql);
});

/** How many requests of the Run were sent to the model. */
const sent = (whole) => whole.requests.filter((q) => q.sent_at !== null).length;

test('R24 stops at every moment: nothing goes on, and nothing stays open', BOUND, async (t) => {
  const { model, research, send, stop, run, sql } = await started(t, {}, { library: await shelf(t) });
  model.on('research', async (req, reply) => {
    reply.text('I search.');
    await sleep(15);
    if (req.body.messages.some((m) => m.role === 'tool')) {
      reply.report('# Done');
    } else {
      reply.call(['library_search', { query: 'tides' }], ['note', { text: 'x' }]);
    }
  });
  model.on('entry', async (req, reply) => {
    reply.text('some ');
    await sleep(20);
    reply.text('words').finish().usage().done();
  });
  const stops = [];
  for (let delay = 0; delay < 120; delay += 8) {
    const r = delay % 16 === 0 ? await research('the sea') : (await send('question')).run;
    await sleep(delay);
    const stopped = await stop(r.id);
    const then = await run(r.id);
    assert.equal(then.run.state, stopped.state);
    assert.ok(['stopped', 'completed'].includes(stopped.state), stopped.state);
    stops.push({ id: r.id, delay, sent: sent(then) });
  }
  await assertSettled(sql);
  // A request on its way at the stop may reach the model after it; none is made after it.
  let all = 0;
  for (const { id, delay, ...then } of stops) {
    const now = sent(await run(id));
    assert.equal(now, then.sent, `a request after the stop at ${delay} ms`);
    all += now;
  }
  assert.ok(model.requests.length <= all, `${model.requests.length} requests for ${all} that were sent`);
});

test('a conversation deleted right after its Run was stopped', BOUND, async (t) => {
  const { model, aside, conv, send, stop, sql } = await started(t);
  model.next('entry', async (req, reply) => {
    reply.text('words');
    await reply.hold('held');
  });
  const { run: r } = await send('question');
  await model.held('held');
  await stop(r.id);
  const gone = await aside.api('DELETE', `/conversations/${conv}`);
  assert.ok([200, 204].includes(gone.status), gone.text);
  await model.wait(() => model.requests[0].aborted, 'the connection to close', 1500);
  const made = await aside.api('POST', '/conversations', {});
  const next = await aside.api('POST', `/conversations/${made.json.conversation.id}/messages`, { body: 'still there?' });
  await aside.until((s) => s.runs.get(next.json.run.id)?.state === 'completed');
  await assertSettled(sql);
});

test('slow providers: silence after headers, and a byte at a time', BOUND, async (t) => {
  const { model, send, research, whole } = await started(t,
    { 'model.first_byte_timeout_ms': 500, 'model.silence_timeout_ms': 700, 'model.total_timeout_ms': 2500 });
  model.next('research', async (req, reply) => {
    reply.head();
    await reply.closed;
  });
  model.next('research', async (req, reply) => {
    reply.text('then nothing');
    await reply.closed;
  });
  const r = await research('the sea');
  model.next('entry', async (req, reply) => {
    while (!reply.ended) {
      reply.raw(':');
      await sleep(200);
    }
  });
  const short = await send('question');
  const end = await whole(r.id);
  assert.equal(end.run.state, 'completed');
  assert.deepEqual(end.requests.map((q) => q.state), ['failed', 'failed', 'done']);
  const dripping = await whole(short.run.id);
  assert.deepEqual(dripping.requests.map((q) => q.state), ['failed', 'done']);
});

test('empty streams, errors inside, ends in mid arguments: tried again, then told', BOUND, async (t) => {
  const { model, research, send, whole, sql } = await started(t);
  model.next('research', (req, reply) => reply.end());
  model.next('research', (req, reply) => {
    reply.toolCall('library_search', '{"query": "ti');
    reply.cut();
  });
  model.next('research', (req, reply) => reply.errorInStream().end());
  const end = await whole((await research('the sea')).id);
  assert.equal(end.run.state, 'completed');
  assert.deepEqual(end.requests.map((q) => q.state), ['failed', 'failed', 'failed', 'done']);
  assert.equal(end.tool_calls.filter((c) => c.name === 'library_search').length, 0);
  model.on('entry', (req, reply) => reply.done());
  const short = await whole((await send('question')).run.id);
  assert.equal(short.run.state, 'failed');
  assert.equal(short.run.reason, 'provider_error');
  assert.equal(short.requests.length, 4);
  await assertSettled(sql);
});

test('a reply that no row takes is not forgotten for the text that came with it', BOUND, async (t) => {
  const { model, send, whole, sql } = await started(t);
  await sql(`CREATE TRIGGER refuse BEFORE UPDATE ON request WHEN NEW.state = 'done'
    BEGIN SELECT RAISE(ABORT, 'refused by the test'); END`);
  model.next('entry', (req, reply) => reply.answer('The sea is deep.'));
  const { run } = await whole((await send('the sea?')).run.id);
  assert.deepEqual([run.state, run.reason], ['failed', 'crashed']);
  assert.equal(await sql("SELECT count(*) FROM request WHERE state = 'sent'"), '0');
});
