// continue.test.mjs - going on from a research that has ended: what the new one
// knows, what it is asked, and which Runs can be continued (R23, R30).

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { assertCallsAnswered, assertSettled, history, shelf, started } from '../support/started.mjs';
import { BOUND } from '../support/patience.mjs';

const texts = (q) => q.body.messages.map((m) => m.content ?? '');
/** Reports before, without the marks of data that they stand in. */
const earlierOf = (q) => texts(q).filter((x) => x.startsWith('[earlier report of '))
  .map((x) => /^(.*\n)\[data\]\n\| ([^]*)\n\[end of data\]$/.exec(x)).map((m) => m[1] + m[2].replaceAll('\n| ', '\n'));

test('R30 a chain of three: numbers keep citing, only the newest report is carried', BOUND, async (t) => {
  const { model, aside, research, whole, sql } = await started(t, {}, { library: await shelf(t) });
  const go = async (id, body) => {
    const r = await aside.api('POST', `/runs/${id}/continue`, body === undefined ? {} : { body });
    assert.equal(r.status, 202, r.text);
    return r.json;
  };
  model.next('research', (req, reply) => reply.call(['library_search', { query: 'tides moon' }]));
  model.next('research', (req, reply) => reply.report('# First\n\nThe moon pulls. [1]'));
  const first = await whole((await research('How do tides work?')).id);
  assert.equal(first.sources.length, 1);

  // The second finds the same passage under its old number, and a new one.
  model.next('research', (req, reply) => {
    const [earlier] = earlierOf(req);
    assert.match(earlier, new RegExp(`^\\[earlier report of ${first.run.id}\\]\\n`));
    assert.match(earlier, /# First\n\nThe moon pulls\. \[1\]/);
    assert.match(earlier, /\n\[1\] Tides.*tides\.md\)/);
    reply.call(['library_search', { query: 'tides moon' }], ['library_search', { query: 'rivers salt' }]);
  });
  model.next('research', (req, reply) => {
    const results = req.body.messages.filter((m) => m.role === 'tool').map((m) => JSON.parse(m.content));
    assert.deepEqual(results.map((x) => x.passages[0].n), [1, 2]);
    reply.report('# Second\n\nThe moon pulls, and rivers bring salt. [1, 2]');
  });
  const made = await go(first.run.id, 'And the salt?');
  assert.equal(made.run.continues, first.run.id);
  assert.equal(made.message.body, 'And the salt?');
  const second = await whole(made.run.id);
  assert.equal(second.run.state, 'completed');
  assert.deepEqual(second.sources.map((x) => x.n), [1, 2]);
  assert.deepEqual(second.run.coverage.map((c) => [c.source, c.id]), [['request', made.message.id]]);
  assert.deepEqual(second.run.budget.requests.used, 2, 'its own budget');

  // The third, without words: from the second, whose source of the first it
  // may cite without a look-up.
  model.next('research', (req, reply) => {
    const said = texts(req);
    assert.deepEqual(earlierOf(req).length, 1);
    assert.match(earlierOf(req)[0], /# Second/);
    assert.ok(!earlierOf(req)[0].includes('# First'));
    assert.match(earlierOf(req)[0], /\n\[1\] Tides[^]*\n\[2\] /);
    assert.match(said.at(-1), /^\[requirement request\]\nGo on with the earlier research/);
    reply.report('# Third\n\nStill the moon. [1]', [{ id: 'request', status: 'covered', note: 'went on' }]);
  });
  const again = await go(second.run.id);
  assert.equal(again.message ?? null, null);
  const third = await whole(again.run.id);
  assert.equal(third.run.state, 'completed', JSON.stringify(third.run.coverage));
  assert.equal(third.run.continues, second.run.id);
  const md = await aside.api('GET', `/runs/${third.run.id}/report?format=md`);
  assert.match(md.text, /Still the moon\. \[1\]/);
  assert.match(md.text, /\\\[1\\\] Tides/);
  // the chain is visible from any end
  const chain = [third.run];
  while (chain[0].continues !== null) {
    chain.unshift((await aside.api('GET', `/runs/${chain[0].continues}`)).json.run);
  }
  assert.deepEqual(chain.map((x) => x.id), [first.run.id, second.run.id, third.run.id]);
  // what the old ones had stays theirs
  assert.equal((await aside.api('GET', `/runs/${first.run.id}`)).json.sources.length, 1);
  assertCallsAnswered(model);
  await assertSettled(sql);
});

test('R30 an earlier report is bounded, however long the chain grows', BOUND, async (t) => {
  const { model, aside, research, whole } = await started(t,
    { 'model.context_tokens': 8192, 'model.max_output_tokens': 1024 });
  model.next('research', (req, reply) => reply.report(`# Long\n\n${'A long report. '.repeat(2000)}`));
  let last = await whole((await research('Tides?')).id);
  for (let i = 0; i < 3; i++) {
    model.next('research', (req, reply) => {
      assert.ok(Math.ceil(req.raw.length / 3) <= 8192 - 1024, `${req.raw.length} bytes`);
      assert.match(earlierOf(req)[0], /A long report\. [^]*\[cut here\]$/);
      reply.report(`# Long ${i}\n\n${'A long report. '.repeat(2000)}`);
    });
    const made = await aside.api('POST', `/runs/${last.run.id}/continue`, { body: `More ${i}` });
    last = await whole(made.json.run.id);
    assert.equal(last.run.state, 'completed');
  }
});

test('R23 R30 a stopped one without a report: its notes and sources, and what was not applied', BOUND, async (t) => {
  const { model, aside, research, say, stop, whole, sql } = await started(t, {}, { library: await shelf(t) });
  model.next('research', (req, reply) => reply.call(
    ['library_search', { query: 'tides moon' }], ['note', { text: 'the moon pulls' }]));
  model.next('research', async (req, reply) => {
    reply.text('x');
    await reply.hold('second');
  });
  const r = await research('How do tides work?');
  await model.held('second');
  await stop(r.id);
  const late = [await say(r.id, 'and the ebb'), await say(r.id, 'and the flow')];
  assert.deepEqual(late.map((x) => [x.handoff.state, x.handoff.reason]),
    [['not_applied', 'run_stopped'], ['not_applied', 'run_stopped']]);
  model.next('research', (req, reply) => {
    const [earlier] = earlierOf(req);
    assert.match(earlier, /ended without a report[^]*the moon pulls[^]*\n\[1\] Tides/);
    const said = history(req).slice(-3).map((m) => m.content);
    const own = said[0].match(/^\[requirement (msg_\d+)\]\nGo on\.$/)[1];
    assert.deepEqual(said.slice(1), [`[adjustment ${late[0].message.id}]\nand the ebb`,
      `[adjustment ${late[1].message.id}]\nand the flow`]);
    reply.report('# Now', [{ id: own, status: 'covered' }, { id: late[0].message.id, status: 'covered' }]);
  });
  const next = (await aside.api('POST', `/runs/${r.id}/continue`, { body: 'Go on.' })).json;
  const end = await whole(next.run.id);
  assert.deepEqual(end.handoffs.map((h) => [h.origin, h.state, h.message_id]),
    late.map((x) => ['continuation', 'handed', x.message.id]));
  assert.deepEqual(end.run.coverage.map((c) => [c.source, c.id, c.status]), [
    ['request', next.message.id, 'covered'], ['handoff', late[0].message.id, 'covered'],
    ['handoff', late[1].message.id, 'not_covered']]);
  assert.deepEqual([end.run.state, end.run.reason], ['incomplete', 'partial_coverage']);
  // The old receipts say what they said.
  const old = (await aside.api('GET', `/runs/${r.id}`)).json;
  assert.deepEqual(old.handoffs.map((h) => h.state), ['not_applied', 'not_applied']);
  assert.equal(old.run.state, 'stopped');
  await assertSettled(sql);
});

test('R30 from chat: offered for what has ended, and refused for what has not', BOUND, async (t) => {
  const { model, aside, research, send, stop, whole, sql } = await started(t, { 'background.limit': 2 });
  const done = await whole((await research('the sea')).id);
  model.next('research', async (req, reply) => {
    reply.text('x');
    await reply.hold('running');
  });
  const running = await research('the sky');
  await model.held('running');
  model.next('entry', (req, reply) => {
    const list = texts(req).at(-2);
    assert.match(list, new RegExp(`research ${done.run.id} \\| completed`));
    // What is active stands before what has ended.
    assert.ok(list.indexOf(running.id) < list.indexOf(done.run.id));
    reply.call(['continue_research', { run: running.id }]);
  });
  model.next('answer', (req, reply) => {
    assert.match(req.body.messages.at(-1).content, /only a research that has ended can be continued/);
    reply.answer('It still runs.');
  });
  assert.equal((await whole((await send('go on')).run.id)).run.answer.body, 'It still runs.');
  model.next('entry', (req, reply) => reply.call(['continue_research', { run: done.run.id }]));
  const said = await send('Go on with the sea, and say more of salt.');
  const short = await whole(said.run.id);
  assert.equal(short.run.state, 'completed');
  const next = await aside.until((s) => [...s.runs.values()].find((x) => x.continues === done.run.id));
  const end = await whole(next.id);
  assert.deepEqual(end.handoffs.map((h) => [h.kind, h.origin, h.message_id, h.state]),
    [['adjustment', 'entry', said.message.id, 'handed']]);
  const message = (await aside.api('GET', `/conversations/${next.conversation_id}`)).json.messages
    .find((m) => m.id === said.message.id);
  assert.deepEqual(message.handoff_ids, [end.handoffs[0].id]);
  await stop(running.id);
  await aside.until((s) => [...s.requests.values()].every((q) => q.state !== 'sent'));
  await assertSettled(sql);
});

test('R30 R16 who can be continued: every ended research, nothing else, in a free place', BOUND, async (t) => {
  const { model, aside, research, send, stop, whole, sql } = await started(t, { 'budget.normal.requests': 2 });
  const go = (id, body = {}, more = {}) => aside.api('POST', `/runs/${id}/continue`, body, more);
  const refused = (reply, status, code) => {
    assert.equal(reply.status, status, reply.text);
    assert.equal(reply.json.code, code);
  };
  const short = await whole((await send('hello')).run.id);
  refused(await go(short.run.id), 409, 'not_eligible');
  refused(await go('run_999'), 404, 'not_found');
  const completed = await whole((await research('one')).id);
  assert.equal(completed.run.state, 'completed');
  model.next('research', (req, reply) => reply.status(401));
  const failed = await whole((await research('two')).id);
  assert.equal(failed.run.state, 'failed');
  model.next('research', (req, reply) => reply.call(['note', { text: 'x' }]));
  const incomplete = await whole((await research('three')).id);
  assert.equal(incomplete.run.reason, 'budget_requests');
  model.next('research', async (req, reply) => {
    reply.text('x');
    await reply.hold('first');
  });
  const running = await research('four');
  await model.held('first');
  refused(await go(running.id), 409, 'not_eligible');
  const full = await go(completed.run.id, { body: 'more' });
  refused(full, 429, 'background_capacity_full');
  assert.deepEqual([full.json.accepted, full.json.queued], [false, false]);
  assert.equal(await sql("SELECT count(*) FROM message WHERE body = 'more'"), '0');
  await stop(running.id);
  for (const old of [completed, failed, incomplete, { run: running }]) {
    const made = await go(old.run.id, { body: 'more' }, { key: `more-${old.run.id}` });
    assert.equal(made.status, 202, made.text);
    const again = await go(old.run.id, { body: 'more' }, { key: `more-${old.run.id}` });
    assert.deepEqual([again.json.replayed, again.json.run.id], [true, made.json.run.id]);
    const end = await whole(made.json.run.id);
    assert.equal(end.run.state, 'completed');
    assert.equal(end.run.budget.requests.limit, 2);
  }
  // What has ended stays as it was.
  assert.equal((await aside.api('GET', `/runs/${failed.run.id}`)).json.run.state, 'failed');
  await aside.until((s) => [...s.requests.values()].every((q) => q.state !== 'sent'));
  await assertSettled(sql);
});
