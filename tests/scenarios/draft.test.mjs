// draft.test.mjs - what a research has so far can be read before it is finished:
// a draft is a revision of its answer (R05), superseded by the next or by the
// report, kept and marked where the research came to none.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { assertCallsAnswered, assertSettled, history, shelf, started } from '../support/started.mjs';
import { BOUND } from '../support/patience.mjs';

const draft = (report) => ['publish_draft', { report }];
const toolTexts = (req) => req.body.messages.filter((m) => m.role === 'tool').map((m) => m.content);
const answerOf = ({ revision, body, draft: isDraft, complete }) => [revision, body, isDraft, complete];

/** A Run whose draft has been published, held in the request after it. */
async function withDraft(all) {
  const { model, aside, research, run } = all;
  model.next('research', (req, reply) => reply.call(draft('# So far\n\nThe moon.')));
  model.next('research', async (req, reply) => {
    reply.head();
    if (await reply.hold('after the draft') === 'released') {
      reply.report('# Tides');
    }
  });
  const r = await research('the sea');
  const held = await model.held('after the draft');
  await aside.until((s) => s.runs.get(r.id)?.answer.draft);
  assert.deepEqual(answerOf((await run(r.id)).run.answer), [1, '# So far\n\nThe moon.', true, false]);
  return { ...all, id: r.id, held };
}

test('a draft and what becomes of it', BOUND, async (t) => {
  const all = await started(t, {}, { library: await shelf(t) });

  await t.test('R05 a draft is read while the research goes on, and the report supersedes it', async () => {
    const { aside, model, id, held, whole, sql } = await withDraft(all);
    assert.match(toolTexts(model.requests.at(-1)).at(-1), /^\{"outcome":"published; go on/);
    // Not a report yet: there is no file of it.
    assert.equal((await aside.api('GET', `/runs/${id}/report?format=md`)).status, 409);
    held.release();
    const end = await whole(id);
    assert.equal(end.run.state, 'completed');
    assert.deepEqual(answerOf(end.run.answer), [2, '# Tides', false, true]);
    assert.equal(end.run.budget.tool_calls.used, 1, 'a draft counts as a call, a report does not');
    assert.doesNotMatch((await aside.api('GET', `/runs/${id}/report?format=md`)).text, /draft/);
    assertCallsAnswered(model);
    await assertSettled(sql);
  });

  await t.test('R05 two drafts are two revisions; the same again is none', async () => {
    const { model, research, whole, sql, aside } = all;
    model.next('research', (req, reply) => reply.call(draft('one')));
    model.next('research', (req, reply) => reply.call(draft('one')));
    model.next('research', (req, reply) => reply.call(draft('two'), draft('three')));
    model.next('research', async (req, reply) => {
      await reply.head().hold('drafted');
      reply.report('four');
    });
    const r = await research('the sea');
    const held = await model.held('drafted');
    await aside.until((s) => s.runs.get(r.id)?.answer.revision === 3);
    held.release();
    const end = await whole(r.id);
    assert.deepEqual(answerOf(end.run.answer), [4, 'four', false, true]);
    assert.equal(await sql(`SELECT group_concat(body, '|') FROM change WHERE kind = 'answer.part' AND run_id = ${
      r.id.slice(4)}`), 'one|two|three|four');
    await assertSettled(sql);
  });

  await t.test('R24 a stopped research keeps its last draft, marked so, in rows, JSON, file and what follows', async () => {
    const { aside, model, id, stop, run, send, whole, sql } = await withDraft(all);
    const stopped = await stop(id);
    assert.deepEqual([stopped.state, ...answerOf(stopped.answer)],
      ['stopped', 1, '# So far\n\nThe moon.', true, false]);
    assert.equal(await sql(`SELECT answer_draft FROM run WHERE id = ${id.slice(4)}`), '1');
    const file = await aside.api('GET', `/runs/${id}/report?format=md`);
    assert.equal(file.status, 200);
    assert.match(file.text, /\*This is the last draft\. The research ended without a report\.\*\n\n# So far/);
    // Talk after it knows it as a draft, and so does a continuation.
    const { run: short } = await send('What did it say?');
    await whole(short.id);
    const said = model.requests.at(-1).body.messages.map((m) => m.content);
    assert.ok(said.includes('# So far\n\nThe moon.\n(the last draft of a research: stopped here by the person)'),
      said.join('\n---\n'));
    const next = await aside.api('POST', `/runs/${id}/continue`, {});
    await whole(next.json.run.id);
    const earlier = model.requests.at(-1).body.messages.find((m) => m.content.startsWith('[earlier report of'));
    assert.match(earlier.content, /\| \(It ended without a report\. This is its last draft\.\)\n\| # So far\n\| \n\| The moon\./);
    assert.deepEqual(answerOf((await run(id)).run.answer), [1, '# So far\n\nThe moon.', true, false]);
    await assertSettled(sql);
  });

  await t.test('R27 a failed research keeps its last draft', async () => {
    const { model, research, whole, sql } = all;
    model.next('research', (req, reply) => reply.call(draft('# So far')));
    model.next('research', (req, reply) => reply.status(400));
    const r = await research('the sea');
    const end = await whole(r.id);
    assert.deepEqual([end.run.state, end.run.reason, ...answerOf(end.run.answer)],
      ['failed', 'provider_error', 1, '# So far', true, false]);
    await assertSettled(sql);
  });

  await t.test('R29 a draft survives the death of the runtime, and is published once', async () => {
    const { aside, model, id, whole, sql } = await withDraft(all);
    model.next('research', (req, reply) => reply.report('# Tides'));
    await aside.kill('asided');
    await aside.restart('asided');
    const end = await whole(id);
    assert.deepEqual([end.run.state, ...answerOf(end.run.answer)], ['completed', 2, '# Tides', false, true]);
    assert.deepEqual(end.tool_calls.map((c) => [c.name, c.state]),
      [['publish_draft', 'done'], ['deliver_report', 'done']]);
    assert.deepEqual(toolTexts(model.requests.at(-1)).length, 1);
    await assertSettled(sql);
  });

  await t.test('R31 a draft with invented citations is refused and the one before stands; the report is held back by itself',
    async () => {
      const { model, research, whole, run, sql } = all;
      const refused = /not published: \[7\]: no passage with that number was retrieved/;
      model.next('research', (req, reply) => reply.call(['library_search', { query: 'tides moon' }]));
      model.next('research', (req, reply) => reply.call(draft('The moon [1].')));
      model.next('research', (req, reply) => reply.call(draft('Mars [7].')));
      model.next('research', async (req, reply) => {
        assert.match(toolTexts(req).at(-1), refused);
        assert.deepEqual(answerOf((await run((await begun).id)).run.answer), [1, 'The moon [1].', true, false]);
        reply.report('Mars [7].');
      });
      model.next('research', (req, reply) => {
        assert.match(toolTexts(req).at(-1), /not delivered: \[7\]/);
        reply.report('The moon alone [1].');
      });
      const begun = research('the sea');
      const end = await whole((await begun).id);
      assert.deepEqual([end.run.state, ...answerOf(end.run.answer)],
        ['completed', 2, 'The moon alone [1].', false, true]);
      await assertSettled(sql);
    });

  await t.test('R21 an adjustment after a draft goes to the same research, and the report covers it', async () => {
    const { model, id, say, run, whole, sql } = await withDraft(all);
    model.next('research', (req, reply) => {
      assert.match(history(req).at(-1).content, /^\[adjustment msg_\d+\]\nand salt$/);
      reply.report('# Tides and salt');
    });
    await say(id, 'and salt');
    assert.ok((await run(id)).run.answer.revision >= 1);
    const end = await whole(id);
    assert.deepEqual([end.run.state, end.run.coverage.length, ...answerOf(end.run.answer)],
      ['completed', 2, 2, '# Tides and salt', false, true]);
    await assertSettled(sql);
  });
});

test('R26 where the closeout is lost, the report put together holds the last draft', BOUND, async (t) => {
  const { model, research, whole, sql } = await started(t, { 'budget.normal.requests': 3 });
  model.next('research', (req, reply) => reply.call(draft('The moon, so far.'), ['note', { text: 'salt' }]));
  model.next('research', (req, reply) => reply.call(['note', { text: 'ebb' }]));
  model.next('closeout', (req, reply) => reply.status(500));
  const end = await whole((await research('the sea')).id);
  assert.deepEqual([end.run.state, end.run.reason, end.run.answer.draft, end.run.answer.complete],
    ['incomplete', 'budget_requests', false, true]);
  assert.match(end.run.answer.body, /put together from its last draft, notes and sources/);
  assert.match(end.run.answer.body, /## Its last draft\n\nThe moon, so far\.\n\n## Notes\n\n- salt\n- ebb\n/);
  await assertSettled(sql);
});

test('a draft is refused without a text, in broken JSON, beside a question and in the closeout', BOUND, async (t) => {
  const { model, research, say, whole, aside, sql } = await started(t, { 'budget.normal.requests': 5 });
  model.next('research', (req, reply) => reply.call(draft(''), ['publish_draft', '{"report":'], ['publish_draft', '[]']));
  model.next('research', (req, reply) => reply.call(draft('# So far'), ['ask_user', { question: 'Which sea?' }]));
  model.next('research', (req, reply) => reply.call(['note', { text: 'the North Sea' }]));
  model.next('research', (req, reply) => reply.call(['note', { text: 'still' }]));
  model.next('closeout', (req, reply) => reply.call(draft('# So far'),
    ['deliver_report', { report: '# The end', coverage: [] }]));
  const r = await research('the sea');
  await aside.until((s) => s.runs.get(r.id)?.state === 'awaiting_input');
  await say(r.id, 'the North Sea', 'reply');
  const end = await whole(r.id);
  assert.deepEqual(end.tool_calls.filter((c) => c.name === 'publish_draft').map((c) => [c.state, c.error]), [
    ['failed', 'no text was given'], ['failed', 'the arguments break off'], ['failed', 'no text was given'],
    ['failed', 'not carried out beside a question'], ['failed', 'not offered in the closeout']]);
  assert.deepEqual(answerOf(end.run.answer), [1, '# The end', false, true]);
  await assertSettled(sql);
});
