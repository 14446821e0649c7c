// repeats.test.mjs - a look-up that a Run has made is not made again: an
// identical call shares the outcome of the first, and says so.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { assertCallsAnswered, assertSettled, shelf, started } from '../support/started.mjs';
import { BOUND } from '../support/patience.mjs';

const search = (args) => ['library_search', args];

test('identical look-ups are answered from the first, over replies and within one', BOUND, async (t) => {
  const { model, research, whole, sql } = await started(t, {}, { library: await shelf(t) });
  model.next('research', (req, reply) => reply.call(search({ query: 'tides moon', limit: 3 })));
  // The same by value: members in another order, other spaces, an escape.
  model.next('research', (req, reply) => reply.call(
    search('{ "limit": 3.0, "query": "tides \\u006doon" }'),
    search({ query: 'salt' }),
    search({ query: 'salt' }),
    search({ query: 'tides moon', limit: 4 })));
  model.next('research', (req, reply) => reply.report('# Done'));
  const r = await research('the sea');
  const end = await whole(r.id);
  assert.equal(end.run.state, 'completed');
  const [first, again, salt, salty, other] = end.tool_calls;
  assert.deepEqual([first, again, salt, salty, other].map((c) => [c.state, c.repeats]),
    [['done', null], ['done', first.id], ['done', null], ['done', salt.id], ['done', null]]);
  assert.equal(again.summary, `as before: ${first.summary}`);
  assert.equal(salty.summary, `as before: ${salt.summary}`);
  // The model is told the same bytes; nothing was counted twice.
  const told = model.requests.at(-1).body.messages.filter((m) => m.role === 'tool').map((m) => m.marked);
  assert.ok(told.every((text) => text), 'each is marked as data');
  assert.equal(told[1], told[0]);
  assert.equal(told[3], told[2]);
  assert.equal(end.run.budget.tool_calls.used, 3);
  assertCallsAnswered(model);
  await assertSettled(sql);
});

test('R26 a repeat uses no budget; what is new beyond the limit is refused', BOUND, async (t) => {
  const { model, research, whole, sql } = await started(t, { 'budget.normal.tool_calls': 1 },
    { library: await shelf(t) });
  model.next('research', (req, reply) => reply.call(search({ query: 'tides' }), search({ query: 'tides' })));
  model.next('closeout', (req, reply) => reply.report('# Done'));
  model.next('research', (req, reply) => reply.call(search({ query: 'tides' }), search({ query: 'salt' })));
  const end = await whole((await research('the sea')).id);
  assert.deepEqual([end.run.state, end.run.reason], ['incomplete', 'budget_tools']);
  assert.deepEqual(end.tool_calls.slice(0, 4).map((c) => [c.state, c.error, c.repeats !== null]),
    [['done', null, false], ['done', null, true], ['done', null, true], ['failed', 'limit reached', false]]);
  assert.equal(end.run.budget.tool_calls.used, 1);
  await assertSettled(sql);
});

test('what failed is asked again; another Run asks for itself; notes are each meant', BOUND, async (t) => {
  const { model, research, whole, sql } = await started(t, {}, { library: await shelf(t) });
  const bad = ['library_read', { location: 'nowhere.md' }];
  const note = ['note', { text: 'the moon' }];
  for (let run = 0; run < 2; run++) {
    model.next('research', (req, reply) => reply.call(bad, search({ query: 'tides' }), note));
    model.next('research', (req, reply) => reply.call(bad, note));
    model.next('research', (req, reply) => reply.report('# Done'));
    const end = await whole((await research('the sea')).id);
    assert.deepEqual(end.tool_calls.map((c) => [c.name, c.state, c.repeats]), [
      ['library_read', 'failed', null], ['library_search', 'done', null], ['note', 'done', null],
      ['library_read', 'failed', null], ['note', 'done', null], ['deliver_report', 'done', null]]);
  }
  assert.equal(await sql('SELECT count(*) FROM note'), '4');
  await assertSettled(sql);
});
