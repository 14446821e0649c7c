// waiting.test.mjs - a research that asks: who may answer, when it goes on by
// itself, and what becomes of the question (R28).

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { assertCallsAnswered, assertSettled, history, started } from '../support/started.mjs';
import { BOUND } from '../support/patience.mjs';

const asking = (question) => (req, reply) => reply.call(['ask_user', { question }]);
const results = (q) => q.body.messages.filter((m) => m.role === 'tool').map((m) => m.content);
const texts = (q) => q.body.messages.map((m) => m.content ?? '');
const waits = (aside, id, question) => aside.until((s) => {
  const r = s.runs.get(id);
  return r?.state === 'awaiting_input' && r.question === question ? r : null;
}, { what: `${id} asks ${question}` });

test('R28 a reply from the panel, one from chat to a second question, and no more', BOUND, async (t) => {
  const { model, aside, research, send, say, whole, run, sql } = await started(t);
  model.next('research', asking('Which sea?'));
  model.next('research', asking('Which year?'));
  model.next('research', (req, reply) => {
    // Each question has its answer, in order, and each call one result.
    assert.deepEqual(texts(req).filter((x) => x.startsWith('[reply ')).map((x) => x.split('\n')[1]),
      ['The North Sea', 'Last year']);
    assert.deepEqual(results(req), ['The person replied; the reply follows.', 'The person replied; the reply follows.']);
    reply.report('# Done');
  });
  const r = await research('the sea');
  const asks = await waits(aside, r.id, 'Which sea?');
  assert.equal(asks.state, 'awaiting_input');
  // The place is kept, and the question is told to entry.
  const over = (await aside.api('GET', '/overview')).json;
  assert.deepEqual(over.occupancy.background, { used: 1, limit: 1 });
  model.next('entry', (req, reply) => {
    assert.match(texts(req).at(-2), /awaiting_input.*asks: Which sea\?/);
    const names = req.body.tools.map((x) => x.function.name);
    assert.ok(names.includes('reply_research') && !names.includes('start_research'), names.join());
    reply.answer('It asks which sea.');
  });
  await whole((await send('What does it want?')).run.id);
  assert.equal((await run(r.id)).run.state, 'awaiting_input');

  const put = () => aside.api('POST', `/runs/${r.id}/reply`, { body: 'The North Sea' }, { key: 'once' });
  const first = await put();
  assert.equal(first.status, 202, first.text);
  assert.deepEqual([first.json.handoff.kind, first.json.handoff.state], ['reply', 'received']);
  await waits(aside, r.id, 'Which year?');
  // Said twice under one key it is one reply; it answers no later question.
  const again = await put();
  assert.deepEqual([again.status, again.json.replayed, again.json.handoff.id], [202, true, first.json.handoff.id]);
  assert.equal((await run(r.id)).run.state, 'awaiting_input');

  model.next('entry', (req, reply) => reply.call(['reply_research', { run: r.id }]));
  const { message } = await send('Last year');
  const end = await whole(r.id);
  assert.equal(end.run.state, 'completed');
  assert.deepEqual(end.handoffs.map((h) => [h.kind, h.origin, h.state]),
    [['reply', 'panel', 'handed'], ['reply', 'entry', 'handed']]);
  assert.equal(end.handoffs[1].message_id, message.id);
  // Replies are no requirements.
  assert.deepEqual(end.run.coverage.map((c) => c.source), ['request']);
  for (const door of [r.id, (await send('hello')).run.id]) {
    const late = await aside.api('POST', `/runs/${door}/reply`, { body: 'too late' });
    assert.equal(late.status, 409, late.text);
  }
  assertCallsAnswered(model);
  await assertSettled(sql);
});

test('R28 only what waits takes a reply; nothing of a refused one is kept', BOUND, async (t) => {
  const { model, aside, research, send, stop, whole, sql } = await started(t);
  model.next('research', async (req, reply) => {
    reply.text('x');
    await reply.hold('running');
  });
  const r = await research('the sea');
  await model.held('running');
  const no = await aside.api('POST', `/runs/${r.id}/reply`, { body: 'unasked' });
  assert.deepEqual([no.status, no.json.code], [409, 'not_awaiting_input']);
  model.next('entry', (req, reply) => reply.call(['reply_research', { run: r.id }]));
  model.next('answer', (req, reply) => {
    assert.match(results(req).at(-1), /does not await a reply/);
    reply.answer('It asks nothing.');
  });
  assert.equal((await whole((await send('the North Sea')).run.id)).run.answer.body, 'It asks nothing.');
  assert.equal(await sql("SELECT count(*) FROM message WHERE body = 'unasked'"), '0');
  assert.equal(await sql('SELECT count(*) FROM handoff'), '0');
  await stop(r.id);
  const ended = await aside.api('POST', `/runs/${r.id}/reply`, { body: 'unasked' });
  assert.deepEqual([ended.status, ended.json.code], [409, 'not_awaiting_input']);
});

test('R28 an adjustment while it waits: the question stays unanswered, the Run goes on', BOUND, async (t) => {
  const { model, aside, research, send, whole, sql } = await started(t);
  model.next('research', asking('Which sea?'));
  model.next('research', (req, reply) => {
    assert.match(results(req)[0], /left unanswered/);
    assert.match(history(req).at(-1).content, /^\[adjustment msg_\d+\]\nand the salt$/);
    reply.report('# Done');
  });
  const r = await research('the sea');
  await waits(aside, r.id, 'Which sea?');
  model.next('entry', (req, reply) => reply.call(['adjust_research', { run: r.id }]));
  await send('and the salt');
  const end = await whole(r.id);
  assert.equal(end.run.state, 'completed');
  assert.deepEqual(end.run.coverage.map((c) => c.source), ['request', 'handoff']);
  assertCallsAnswered(model);
  await assertSettled(sql);
});

test('R28 R29 a question outlives its runtime; a reply given meanwhile is taken', BOUND, async (t) => {
  const { model, aside, research, say, whole, run, sql } = await started(t, { 'background.limit': 2 });
  model.next('research', asking('Which sea?'));
  const one = await research('the sea');
  await waits(aside, one.id, 'Which sea?');
  model.next('research', asking('Which sky?'));
  const two = await research('the sky');
  await waits(aside, two.id, 'Which sky?');
  await aside.kill('asided');
  await say(one.id, 'The North Sea', 'reply');
  await aside.restart('asided');
  const end = await whole(one.id);
  assert.equal(end.run.state, 'completed');
  assert.equal(end.handoffs[0].state, 'handed');
  // The other was not woken by the restart, nor counted as a crash.
  assert.equal((await run(two.id)).run.state, 'awaiting_input');
  await aside.restart('asided');
  await say(two.id, 'The northern one', 'reply');
  assert.equal((await whole(two.id)).run.state, 'completed');
  assert.equal(await sql('SELECT max(crashes) FROM run'), '0');
  assertCallsAnswered(model);
  await assertSettled(sql);
});

test('R28 time that ran out while no runtime was there: the closeout, when it is back', BOUND, async (t) => {
  const { model, aside, research, whole, run, sql } = await started(t, { 'wait.max_seconds': 2 });
  model.next('research', asking('Which sea?'));
  const r = await research('the sea');
  await waits(aside, r.id, 'Which sea?');
  await aside.kill('asided');
  const { waiting } = JSON.parse(`{"waiting":${await sql('SELECT waiting_since_ms FROM run')}}`);
  while (Date.now() < waiting + 2100) {
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  assert.equal((await run(r.id)).run.state, 'awaiting_input');
  await aside.restart('asided');
  const end = await whole(r.id);
  assert.deepEqual([end.run.state, end.run.reason], ['incomplete', 'no_reply']);
  assert.equal(end.run.question, 'Which sea?');
  assert.match(results(model.requests.at(-1))[0], /No reply came in the time allowed/);
  const late = await aside.api('POST', `/runs/${r.id}/reply`, { body: 'late' });
  assert.equal(late.status, 409);
  await assertSettled(sql);
});

test('R28 a reply against the end of patience: taken, or refused; never both', BOUND, async (t) => {
  const { model, aside, research, whole, sql } = await started(t, { 'wait.max_seconds': 2, 'background.limit': 4 });
  model.on('research', (req, reply) => req.body.messages.some((m) => m.role === 'tool')
    ? reply.report('# Done') : asking('Which sea?')(req, reply));
  const seen = { taken: 0, refused: 0 };
  const one = async (offset) => {
    const r = await research(`the sea ${offset}`);
    // Where the machine is slow, its patience may be over before we have seen it wait.
    await aside.until((s) => !['running', undefined].includes(s.runs.get(r.id)?.state));
    const since = Number(await sql(`SELECT COALESCE(waiting_since_ms, 0) FROM run WHERE id = ${r.id.slice(4)}`));
    await new Promise((resolve) => setTimeout(resolve, Math.max(0, since + 2000 + offset - Date.now())));
    const reply = await aside.api('POST', `/runs/${r.id}/reply`, { body: 'The North Sea' });
    const end = await whole(r.id);
    if (reply.status === 202) {
      seen.taken++;
      assert.deepEqual([end.run.state, end.handoffs[0].state], ['completed', 'handed'], `offset ${offset}`);
      assert.ok(end.requests.every((q) => q.purpose === 'research'));
    } else {
      seen.refused++;
      assert.deepEqual([reply.status, reply.json.code], [409, 'not_awaiting_input']);
      assert.deepEqual([end.run.reason, end.handoffs.length], ['no_reply', 0]);
    }
  };
  for (let round = 0; round < 4; round++) {
    await Promise.all([-1000, -15 + 10 * round, 10 * round, 300].map(one));
  }
  assert.ok(seen.taken > 0 && seen.refused > 0, JSON.stringify(seen));
  assertCallsAnswered(model);
  await assertSettled(sql);
});

test('R28 assume: nobody is asked, and the model is told to state what it assumes', BOUND, async (t) => {
  const { model, research, whole } = await started(t);
  model.next('research', (req, reply) => {
    const names = req.body.tools.map((x) => x.function.name);
    assert.ok(!names.includes('ask_user'), names.join());
    assert.match(texts(req).find((x) => x.startsWith('[facts')), /nobody can be asked; assume what is likely, and state/);
    reply.call(['ask_user', { question: 'Which sea?' }]); // it asks all the same
  });
  model.next('research', (req, reply) => {
    assert.match(results(req)[0], /not asked: assume what is likely and state it/);
    reply.report('# Done\n\nI assume the North Sea.');
  });
  const end = await whole((await research('the sea', { missing_info: 'assume' })).id);
  assert.equal(end.run.state, 'completed');
  assert.equal(end.run.question, null);
});

test('R28 fail: it ends at its question, shown, without a guess and without a closeout', BOUND, async (t) => {
  const { model, aside, research, whole, sql } = await started(t);
  model.next('research', (req, reply) => {
    assert.match(texts(req).find((x) => x.startsWith('[facts')), /nobody will reply, and nothing may be assumed/);
    reply.call(['note', { text: 'the moon pulls' }]);
  });
  model.next('research', (req, reply) => reply.call(['ask_user', { question: 'Which sea?' }], ['note', { text: 'x' }]));
  const end = await whole((await research('the sea', { missing_info: 'fail' })).id);
  assert.deepEqual([end.run.state, end.run.reason, end.run.question], ['failed', 'no_reply', 'Which sea?']);
  assert.equal(end.requests.length, 2);
  // With the answer it is continued, and knows what it had.
  model.next('research', (req, reply) => {
    assert.ok(req.raw.includes('the moon pulls'));
    reply.report('# Done');
  });
  const next = await aside.api('POST', `/runs/${end.run.id}/continue`, { body: 'The North Sea.' });
  const more = await whole(next.json.run.id);
  assert.equal(more.run.state, 'completed');
  assert.equal(more.run.missing_info, 'fail');
  await assertSettled(sql);
});
