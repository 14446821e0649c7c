// attack-steer.test.mjs - adjustments, replies and operations at the moments that
// the rules name one by one.

import assert from 'node:assert/strict';
import path from 'node:path';
import { test } from 'node:test';

import { holdWriteLock } from '../support/lock.mjs';
import { assertCallsAnswered, assertSettled, history, started } from '../support/started.mjs';
import { BOUND } from '../support/patience.mjs';

const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

test('R26 an adjustment before the closeout goes into it, one after it is told so', BOUND, async (t) => {
  const { model, research, say, whole, sql } = await started(t, { 'budget.normal.requests': 2 });
  model.next('research', async (req, reply) => {
    reply.text('x');
    await reply.hold('first');
  });
  model.next('closeout', async (req, reply) => {
    assert.match(history(req).at(-1).content, /^\[adjustment [^\]]+\]\nbefore it$/);
    reply.head().comment();
    await reply.hold('closing');
    reply.report('# Closed');
  });
  const r = await research('the sea');
  await model.held('first');
  const before = await say(r.id, 'before it');
  const closing = await model.held('closing');
  const after = await say(r.id, 'after it');
  assert.deepEqual([after.handoff.state, after.handoff.reason], ['not_applied', 'budget']);
  closing.release();
  const end = await whole(r.id);
  assert.equal(end.run.reason, 'budget_requests');
  assert.ok(end.run.coverage.some((c) => [before.handoff.id, before.message.id].includes(c.id)));
  assert.equal(end.run.coverage.length, 2);
  await assertSettled(sql);
});

test('R26 a closeout that is lost gives a report from notes, and tells the adjustment', BOUND, async (t) => {
  const { model, research, say, whole, sql } = await started(t, { 'budget.normal.requests': 3 });
  model.next('research', (req, reply) => reply.call(['note', { text: 'the moon pulls' }]));
  model.next('research', async (req, reply) => {
    reply.text('x');
    await reply.hold('second');
  });
  model.next('closeout', (req, reply) => reply.head().cut());
  const r = await research('the sea');
  await model.held('second');
  await say(r.id, 'and salt');
  const end = await whole(r.id);
  assert.match(end.run.answer.body, /the moon pulls/);
  assert.equal(end.run.reason, 'budget_requests');
  assert.deepEqual([end.handoffs[0].state, end.handoffs[0].reason], ['not_applied', 'budget']);
  await assertSettled(sql);
});

test('R21 R22 two adjustments at once, with a finished reply still on its way', BOUND, async (t) => {
  const { model, aside, research, say, whole, sql } = await started(t);
  model.next('research', async (req, reply) => {
    reply.toolCall('deliver_report', { report: '# Too early', coverage: [] });
    reply.finish('tool_calls').usage();
    await reply.hold('finished');
    reply.done();
  });
  const r = await research('the sea');
  const held = await model.held('finished');
  await held.reply.arrived();
  await say(r.id, 'and salt');
  await say(r.id, 'and ice');
  await sleep(100); // time to do wrong
  held.release();
  const end = await whole(r.id);
  assert.deepEqual(end.requests.map((q) => q.state), ['done', 'done'], 'what has finished is not interrupted');
  assert.equal(end.run.answer.body, 'A scripted report.');
  assert.equal(end.run.state, 'completed');
  assert.equal(end.run.coverage.length, 3);
  assert.equal(end.tool_calls[0].state, 'failed');
  const said = history(model.requests[1]).slice(-2).map((m) => m.content.split('\n')[1]);
  assert.deepEqual(said, ['and salt', 'and ice']);
  assertCallsAnswered(model);
  await assertSettled(sql);
});

test('R22 R28 no pause past an adjustment; one while it waits resumes it', BOUND, async (t) => {
  const { model, aside, research, say, whole, sql } = await started(t);
  model.next('research', async (req, reply) => {
    reply.toolCall('ask_user', { question: 'Which sea?' });
    reply.finish('tool_calls').usage();
    await reply.hold('asking');
    reply.done();
  });
  model.next('research', (req, reply) => reply.call(['ask_user', { question: 'Really, which?' }]));
  model.next('research', (req, reply) => {
    const tool = req.body.messages.findLast((m) => m.role === 'tool');
    assert.match(tool.content, /left unanswered/);
    assert.match(history(req).at(-1).content, /never mind/);
    reply.report('# Done');
  });
  const r = await research('the sea');
  const held = await model.held('asking');
  await held.reply.arrived();
  await say(r.id, 'and salt');
  held.release();
  await aside.until((s) => s.runs.get(r.id)?.state === 'awaiting_input');
  await say(r.id, 'never mind');
  const late = await aside.api('POST', `/runs/${r.id}/reply`, { body: 'too late' });
  assert.equal(late.status, 409);
  const end = await whole(r.id);
  assert.equal(end.run.state, 'completed');
  assert.equal(end.run.coverage.length, 3);
  assertCallsAnswered(model);
  await assertSettled(sql);
});

test('R28 nobody replies: the question is closed and the closeout tells why', BOUND, async (t) => {
  const { model, research, whole, sql } = await started(t, { 'wait.max_seconds': 1 });
  model.next('research', (req, reply) => reply.call(['ask_user', { question: 'Which sea?' }]));
  const end = await whole((await research('the sea')).id);
  assert.equal(end.run.state, 'incomplete');
  assert.equal(end.run.reason, 'no_reply');
  assert.deepEqual(end.requests.map((q) => q.purpose), ['research', 'closeout']);
  assertCallsAnswered(model);
  await assertSettled(sql);
});

test('stop while it waits for the person, and while it waits for the provider', BOUND, async (t) => {
  const { model, aside, research, stop, run, sql } = await started(t, { 'background.limit': 2 });
  model.next('research', (req, reply) => reply.call(['ask_user', { question: 'Which sea?' }]));
  const asks = await research('the sea');
  await aside.until((s) => s.runs.get(asks.id)?.state === 'awaiting_input');
  model.next('research', (req, reply) => reply.status(429, { 'retry-after': '86400' }));
  const waits = await research('the sky');
  await aside.until((s) => s.runs.get(waits.id)?.phase === 'waiting_for_provider' &&
    [...s.requests.values()].some((q) => q.run_id === waits.id && q.state === 'planned'));
  await stop(asks.id);
  await stop(waits.id);
  await aside.until((s) => [...s.toolCalls.values()].some((c) => c.state === 'interrupted'));
  assert.equal((await run(asks.id)).tool_calls[0].cause, 'stop');
  assert.deepEqual((await run(waits.id)).requests.map((q) => [q.state, q.cause]),
    [['failed', null], ['skipped', 'stop']]);
  await assertSettled(sql);
});

test('many operations in one reply: each is carried out once or refused', BOUND, async (t) => {
  const { model, aside, research, send, whole, run, sql } = await started(t, { 'background.limit': 3 });
  model.on('research', async (req, reply) => {
    reply.text('x');
    await reply.hold('research');
  });
  const a = await research('the sea');
  await model.held('research');
  const b = await research('the sky');
  await model.held('research');
  model.next('entry', (req, reply) => reply.call(
    ...Array.from({ length: 20 }, () => ['adjust_research', { run: a.id }]),
    ['stop_research', { run: b.id }], ['stop_research', { run: b.id }], ['adjust_research', { run: b.id }],
    ['start_research', { title: 'third' }], ['start_research', { title: 'fourth' }]));
  const { run: s } = await send('all at once');
  await aside.until((state) => state.runs.get(s.id)?.kind === 'research');
  await aside.until((state) => state.runs.get(b.id)?.state === 'stopped');
  const third = await run(s.id);
  assert.equal(third.run.title, 'third');
  const seen = await run(a.id);
  assert.equal(seen.handoffs.length, 1);
  assert.equal((await run(b.id)).handoffs[0].state, 'not_applied');
  for (const id of [a.id, s.id]) {
    await aside.api('POST', `/runs/${id}/stop`);
    await whole(id);
  }
  await assertSettled(sql);
});

test('continuations by words carry the message; their old receipts become requirements', BOUND, async (t) => {
  const { model, research, send, stop, say, whole, aside, sql } = await started(t);
  model.next('research', async (req, reply) => {
    reply.text('x');
    await reply.hold('first');
  });
  const r = await research('the sea');
  await model.held('first');
  await stop(r.id);
  await say(r.id, 'and salt');
  model.next('entry', (req, reply) => reply.call(['continue_research', { run: r.id }]));
  const { run: s, message } = await send('go on with it, and add ice');
  await whole(s.id);
  const next = await aside.until((state) => [...state.runs.values()].find((x) => x.continues === r.id));
  const end = await whole(next.id);
  assert.equal(end.handoffs.length, 2);
  assert.ok(end.handoffs.some((h) => h.message_id === message.id));
  assert.ok(end.handoffs.every((h) => h.state === 'handed'));
  assert.equal(end.run.coverage.length, 3);
  // the scripted model says nothing of the requirement without a message
  assert.deepEqual(end.run.coverage.map((c) => c.status), ['not_covered', 'covered', 'covered']);
  await assertSettled(sql);
});

test('R24 a stop that is saved closes the connection although the lock is held', BOUND, async (t) => {
  const { model, aside, research, stop, sql } = await started(t);
  model.next('research', async (req, reply) => {
    reply.text('x');
    await reply.hold('first');
  });
  const r = await research('the sea');
  await model.held('first');
  aside.part('asided').signal('SIGSTOP');
  await stop(r.id);
  const lock = await holdWriteLock(path.join(aside.dataDir, 'aside.db'), 3000);
  aside.part('asided').signal('SIGCONT');
  await model.wait(() => model.requests[0].aborted, 'the connection to close', 1200);
  await lock.release();
  await aside.until((s) => [...s.requests.values()].some((q) => q.state === 'interrupted'));
  await assertSettled(sql);
});
