// citations.test.mjs - a report cites what was retrieved. A number that no
// passage has is held back once, and then not taken for covered (R31).

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { assertCallsAnswered, assertSettled, shelf, started } from '../support/started.mjs';

const BOUND = { timeout: 60000 };
const search = (req, reply) => reply.call(['library_search', { query: 'tides moon' }]);
const held = /not delivered: \[7\], \[12\]: no passage with that number was retrieved/;
const FALSE = '# Tides\n\nThe moon [1]. Mars [7], and Venus [1, 12].\n\n`a[99]`';
const told = (req) => req.body.messages.filter((m) => m.role === 'tool').at(-1).content;

/** Everything covered, with a note. */
const all = (r) => [{ id: r.message_id, status: 'covered', note: 'by the library' }];

test('R31 an invented citation is held back and the model told; mended, it is delivered', BOUND, async (t) => {
  const { model, research, whole, sql } = await started(t, {}, { library: await shelf(t) });
  let r;
  model.next('research', search);
  model.next('research', (req, reply) => reply.report(FALSE, all(r)));
  model.next('research', (req, reply) => {
    assert.match(told(req), held);
    reply.report('# Tides\n\nThe moon [1].', all(r));
  });
  r = await research('the sea');
  const end = await whole(r.id);
  assert.equal(end.run.state, 'completed');
  assert.equal(end.run.answer.body, '# Tides\n\nThe moon [1].');
  assert.deepEqual(end.tool_calls.slice(1).map((c) => [c.state, c.error]),
    [['failed', 'held back: it cites what was never retrieved'], ['done', null]]);
  assertCallsAnswered(model);
  await assertSettled(sql);
});

test('R31 told once: what is insisted on is delivered as covered in part, and says why', BOUND, async (t) => {
  const { model, research, whole, sql } = await started(t, {}, { library: await shelf(t) });
  let r;
  model.next('research', search);
  model.next('research', (req, reply) => reply.report(FALSE, all(r)));
  model.next('research', (req, reply) => reply.report(FALSE, all(r)));
  r = await research('the sea');
  const end = await whole(r.id);
  assert.deepEqual([end.run.state, end.run.reason], ['incomplete', 'partial_coverage']);
  assert.equal(end.run.answer.body, FALSE);
  assert.deepEqual(end.run.coverage.map((c) => [c.status, c.note]),
    [['partial', 'by the library – The report cites [7], [12], which was never retrieved.']]);
  assert.equal(model.requests.length, 3);
  await assertSettled(sql);
});

test('R26 R31 the closeout is not repeated: it is delivered, and marked', BOUND, async (t) => {
  const { model, research, whole, sql } = await started(t, { 'budget.normal.requests': 2 },
    { library: await shelf(t) });
  let r;
  model.next('research', search);
  model.next('closeout', (req, reply) => reply.report(FALSE, all(r)));
  r = await research('the sea');
  const end = await whole(r.id);
  assert.deepEqual([end.run.state, end.run.reason], ['incomplete', 'budget_requests']);
  assert.equal(end.run.coverage[0].status, 'partial');
  assert.match(end.run.coverage[0].note, /never retrieved/);
  assert.equal(model.requests.length, 2);
  await assertSettled(sql);
});

test('R30 a continuation may cite what the research before it retrieved', BOUND, async (t) => {
  const { model, aside, research, whole, sql } = await started(t, {}, { library: await shelf(t) });
  let r;
  model.next('research', search);
  model.next('research', (req, reply) => reply.report('# Tides\n\nThe moon [1].', all(r)));
  r = await research('the sea');
  await whole(r.id);
  model.next('research', (req, reply) => reply.report('# More\n\nStill the moon [1].', all(r)));
  r = (await aside.api('POST', `/runs/${r.id}/continue`, { body: 'go on' })).json.run;
  const end = await whole(r.id);
  assert.equal(end.run.answer.body, '# More\n\nStill the moon [1].');
  assert.equal(end.tool_calls.length, 1, 'nothing was held back');
  await assertSettled(sql);
});
