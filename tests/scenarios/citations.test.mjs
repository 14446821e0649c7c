// citations.test.mjs - a report cites what was retrieved. A number that no
// passage has is held back once, and then not taken for covered (R31).

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { asked } from '../support/scripted-model.mjs';
import { assertCallsAnswered, assertSettled, shelf, started } from '../support/started.mjs';
import { BOUND } from '../support/patience.mjs';

const search = (req, reply) => reply.call(['library_search', { query: 'tides moon' }]);
const held = /not delivered: \[7\], \[12\]: no passage with that number was retrieved/;
const FALSE = '# Tides\n\nThe moon [1]. Mars [7], and Venus [1, 12].\n\n`a[99]`';
const told = (req) => req.body.messages.filter((m) => m.role === 'tool').at(-1).content;

/** Everything covered, with a note. */
const all = (req) => [{ id: asked(req).at(-1), status: 'covered', note: 'by the library' }];

test('R31 an invented citation is held back and the model told; mended, it is delivered', BOUND, async (t) => {
  const { model, research, whole, sql } = await started(t, {}, { library: await shelf(t) });
  model.next('research', search);
  model.next('research', (req, reply) => reply.report(FALSE, all(req)));
  model.next('research', (req, reply) => {
    assert.match(told(req), held);
    reply.report('# Tides\n\nThe moon [1].', all(req));
  });
  const r = await research('the sea');
  const end = await whole(r.id);
  assert.equal(end.run.state, 'completed');
  assert.equal(end.run.answer.body, '# Tides\n\nThe moon [1].');
  assert.deepEqual(end.tool_calls.slice(1).map((c) => [c.state, c.error]),
    [['failed', 'held back: it cites what was never retrieved'], ['done', null]]);

  // Twice in one reply: the model has been told of neither.
  model.next('research', search);
  model.next('research', (req, reply) => reply.call(...[FALSE, `${FALSE} More.`].map((report) =>
    ['deliver_report', { report, coverage: all(req) }])));
  model.next('research', (req, reply) => {
    assert.match(told(req), held);
    reply.report('The moon [1].', all(req));
  });
  const twice = await whole((await research('the sea')).id);
  assert.deepEqual([twice.run.state, twice.run.answer.body], ['completed', 'The moon [1].']);
  assert.deepEqual(twice.tool_calls.slice(1).map((c) => c.state), ['failed', 'failed', 'done']);
  assertCallsAnswered(model);
  await assertSettled(sql);
});

test('R31 told once: what is insisted on is delivered as covered in part, and says why', BOUND, async (t) => {
  const { model, research, whole, sql } = await started(t, {}, { library: await shelf(t) });
  model.next('research', search);
  model.next('research', (req, reply) => reply.report(FALSE, all(req)));
  model.next('research', (req, reply) => reply.report(FALSE, all(req)));
  const r = await research('the sea');
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
  model.next('research', search);
  model.next('closeout', (req, reply) => reply.report(FALSE, all(req)));
  const r = await research('the sea');
  const end = await whole(r.id);
  assert.deepEqual([end.run.state, end.run.reason], ['incomplete', 'budget_requests']);
  assert.equal(end.run.coverage[0].status, 'partial');
  assert.match(end.run.coverage[0].note, /never retrieved/);
  assert.equal(model.requests.length, 2);
  await assertSettled(sql);
});

const last = (req) => req.body.messages.filter((m) => m.role === 'user' && m.content.startsWith('[notice]')).at(-1);
const lines = (run) => run.coverage.map((c) => [c.status, c.note]);
const CITES = 'The report cites [7], [12], which was never retrieved.';
const NONE = 'The model stated no coverage.';

test('R31 a report in plain text is checked as one that is handed in, and the model told once', BOUND, async (t) => {
  const { model, research, whole, sql } = await started(t, {}, { library: await shelf(t) });
  const plain = (text) => (req, reply) => reply.text(text).finish('stop').usage().done();
  const asks = (what) => (req) => assert.match(last(req).content, what);
  const FALSE_TOO = /no passage with the number \[7\], \[12\] was retrieved/;
  const ASKED = /^\[notice\]\nYour text was kept as progress\. Hand in the report now with deliver_report/;
  const replies = async (...list) => {
    model.next('research', search);
    for (const [check, reply] of list) {
      model.next('research', (req, r) => {
        check(req);
        reply(req, r);
      });
    }
    const before = model.requests.length;
    const r = await research('the sea');
    const end = await whole(r.id);
    assert.equal(model.requests.length - before, list.length + 1);
    assertCallsAnswered(model);
    await assertSettled(sql);
    return end.run;
  };
  const nothing = () => {};

  await t.test('told when it is asked to deliver; insisted on, it is taken and says so', async () => {
    const run = await replies([nothing, plain(FALSE)], [(req) => (asks(ASKED)(req), asks(FALSE_TOO)(req)), plain(FALSE)]);
    assert.deepEqual([run.state, run.reason, run.answer.body], ['incomplete', 'partial_coverage', FALSE]);
    assert.deepEqual(lines(run), [['not_covered', `${NONE} – ${CITES}`]]);
  });
  await t.test('mended, nothing is said of it', async () => {
    const run = await replies([nothing, plain(FALSE)], [asks(FALSE_TOO), plain('The moon [1].')]);
    assert.deepEqual(lines(run), [['not_covered', NONE]]);
  });
  await t.test('what was first invented when it was asked to deliver is held back too, once', async () => {
    const run = await replies([nothing, plain('So far, the moon.')],
      [(req) => assert.ok(!last(req).content.includes('no passage')), plain(FALSE)],
      [asks(FALSE_TOO), plain(FALSE)]);
    assert.equal(run.answer.body, FALSE);
    assert.deepEqual(lines(run), [['not_covered', `${NONE} – ${CITES}`]]);
  });
  await t.test('told at one door is told at the other', async () => {
    const asked = (req) => req.body.messages.find((m) => m.content?.startsWith('[requirement ')).content;
    const all = (req) => [{ id: asked(req).match(/msg_\d+/)[0], status: 'covered', note: '' }];
    let run = await replies([nothing, plain(FALSE)], [asks(FALSE_TOO), (req, r) => r.report(FALSE, all(req))]);
    assert.deepEqual(lines(run), [['partial', CITES]]);
    run = await replies([nothing, (req, r) => r.report(FALSE, all(req))], [(req) => assert.match(told(req), held), plain(FALSE)],
      [asks(ASKED), plain(FALSE)]);
    assert.deepEqual(lines(run), [['not_covered', `${NONE} – ${CITES}`]]);
  });
});

test('R26 R31 plain text in a closeout is not repeated, and marked; so is what is put together from notes', BOUND, async (t) => {
  const { model, research, whole, sql } = await started(t, { 'budget.normal.requests': 2 },
    { library: await shelf(t) });
  model.next('research', search);
  model.next('closeout', (req, reply) => reply.text(FALSE).finish('stop').usage().done());
  let end = await whole((await research('the sea')).id);
  assert.deepEqual([end.run.state, end.run.reason, end.run.answer.body], ['incomplete', 'budget_requests', FALSE]);
  assert.deepEqual(lines(end.run), [['not_covered', `${NONE} – ${CITES}`]]);
  model.next('research', (req, reply) => reply.call(['library_search', { query: 'tides moon' }],
    ['note', { text: 'As said in [7, 12], and in [1].' }]));
  model.next('closeout', (req, reply) => reply.status(500));
  end = await whole((await research('the sea')).id);
  assert.match(end.run.answer.body, /As said in \[7, 12\]/);
  assert.deepEqual(lines(end.run),
    [['not_covered', `The research ended before its report was written. – ${CITES}`]]);
  await assertSettled(sql);
});

test('R26 a report that breaks off: the model is told; in a closeout what there is of it is delivered', BOUND, async (t) => {
  const { model, research, whole, sql } = await started(t, { 'budget.normal.requests': 3 },
    { library: await shelf(t) });
  const cut = (text) => (req, reply) => reply.call(['deliver_report', text]);
  const go = async (text) => {
    model.next('research', search);
    model.next('research', cut('{"report":"# Tides\\n\\nThe mo'));
    model.next('closeout', (req, reply) => {
      assert.match(told(req), /the arguments break off: the reply was too long/);
      cut(text(asked(req)[0]))(req, reply);
    });
    const r = await research('the sea');
    const { run } = await whole(r.id);
    assert.deepEqual([run.state, run.reason], ['incomplete', 'budget_requests']);
    return [run.answer.body, ...lines(run)[0]];
  };
  const why = 'The report breaks off: it was too long.';
  assert.deepEqual(await go(() => '{"report":"# Tides\\n\\nThe moon [1] and \\ud83c\\udf0a \\ud83c'),
    ['# Tides\n\nThe moon [1] and \u{1f30a} ', 'not_covered', why]);
  assert.deepEqual(await go((id) => `{"report":"The moon [1].","coverage":[{"id":"${id}","status":"covered"},{"id":"m`),
    ['The moon [1].', 'partial', why]);
  const lost = await go(() => '{"coverage":[],"report"');
  assert.match(lost[0], /before the model could write its report/);
  await assertSettled(sql);
});

test('R31 what a report calls partly covered says that it cites what was never retrieved', BOUND, async (t) => {
  const { model, research, whole, sql } = await started(t, { 'budget.normal.requests': 2 },
    { library: await shelf(t) });
  model.next('research', search);
  model.next('closeout', (req, reply) => reply.report(FALSE, [{ id: asked(req)[0], status: 'partial', note: 'half' }]));
  const r = await research('the sea');
  assert.deepEqual(lines((await whole(r.id)).run), [['partial', `half – ${CITES}`]]);
  await assertSettled(sql);
});

test('R31 the thousandth passage is cited as the first; a number beyond the last is invented, a year is none', BOUND, async (t) => {
  const { model, aside, research, whole, sql } = await started(t, { 'budget.normal.tool_calls': 100 });
  const page = (n) => ['fault_small', { page: n }];
  for (let i = 0; i < 4; i++) {
    model.next('research', (req, reply) => reply.call(...Array.from({ length: 19 }, (_, k) => page(19 * i + k))));
  }
  const report = (more) => `# Salt\n\nIn [2024], the salt [1000] of [2101]${more}.`;
  const covered = (req) => [{ id: asked(req)[0], status: 'covered', note: '', sources: [1000, 2101] }];
  model.next('research', (req, reply) => reply.report(report(' and [2999, 123456]'), covered(req)));
  model.next('research', (req, reply) => {
    assert.match(told(req), /not delivered: \[2999\], \[123456\]: no passage/);
    reply.report(report(''), [{ ...covered(req)[0], sources: [1000, 2101, 5000000] }]);
  });
  const r = await research('the salt');
  const end = await whole(r.id);
  // A number that reads like a year is given to no passage.
  assert.deepEqual([end.sources.length, end.sources[1498].n, end.sources[1499].n], [1520, 1499, 2101]);
  assert.deepEqual(end.run.coverage.map((c) => [c.status, c.note, c.evidence]),
    [['partial', 'The report cites [5000000], which was never retrieved.', [1000, 2101]]]);
  // What goes on from it is told of them.
  model.next('research', (req, reply) => {
    const earlier = req.body.messages.find((m) => m.content.startsWith('[earlier report'));
    assert.match(earlier.content, /\n\| \[1000\] .*\n\| \[2101\] /);
    reply.report('Still [1000].', []);
  });
  const next = (await aside.api('POST', `/runs/${r.id}/continue`, { body: 'go on' })).json.run;
  assert.equal((await whole(next.id)).tool_calls.length, 1);
  await assertSettled(sql);
});

test('R30 a continuation may cite what the research before it retrieved', BOUND, async (t) => {
  const { model, aside, research, whole, sql } = await started(t, {}, { library: await shelf(t) });
  model.next('research', search);
  model.next('research', (req, reply) => reply.report('# Tides\n\nThe moon [1].', all(req)));
  const r = await research('the sea');
  await whole(r.id);
  model.next('research', (req, reply) => reply.report('# More\n\nStill the moon [1].', all(req)));
  const next = (await aside.api('POST', `/runs/${r.id}/continue`, { body: 'go on' })).json.run;
  const end = await whole(next.id);
  assert.equal(end.run.answer.body, '# More\n\nStill the moon [1].');
  assert.equal(end.tool_calls.length, 1, 'nothing was held back');
  await assertSettled(sql);
});
