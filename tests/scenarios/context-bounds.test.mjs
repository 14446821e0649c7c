// context-bounds.test.mjs - what is asked of a research stands whole in every
// prompt, so all of it together has a bound that every door keeps.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { assertSettled, started } from '../support/started.mjs';
import { BOUND } from '../support/patience.mjs';

// An ASCII byte is counted as a third of a token: half of 8192 are 12288 bytes.
const SMALL = { 'model.context_tokens': 8192, 'model.max_output_tokens': 512 };
const words = (bytes, what = 'sea ') => what.repeat(Math.ceil(bytes / what.length)).slice(0, bytes);

const assertRefused = (reply) => {
  assert.equal(reply.status, 413, reply.text);
  assert.equal(reply.headers['content-type'], 'application/problem+json');
  assert.equal(reply.json.code, 'requirements_too_large');
  assert.match(reply.json.detail, /4096 of 8192 tokens/);
  assert.match(reply.json.detail, /fewer words, or begin another research/);
};

test('R15 the requirements of a research keep to half of the context, at every door', BOUND, async (t) => {
  const { model, aside, conv, send, research, say, stop, run, whole, sql } = await started(t,
    { ...SMALL, 'background.limit': 2 });
  const post = (where, body, more = {}) => aside.api('POST', where, { body, ...more });
  const stored = () => sql('SELECT count(*) FROM message');

  // A research of its own: one byte beside the bound, and at the bound.
  assertRefused(await post(`/conversations/${conv}/messages`, words(12289), { mode: 'background' }));
  assertRefused(await post(`/conversations/${conv}/messages`, words(12289), { depth: 'deep' }));
  assert.equal(await stored(), '0');
  model.next('research', async (req, reply) => {
    reply.text('x');
    await reply.hold('first');
  });
  const r = await research(words(8000));
  await model.held('first');

  // The panel's door. What is refused is not stored and takes nothing away.
  assertRefused(await post(`/runs/${r.id}/adjustments`, words(4400)));
  assert.equal(await stored(), '1');
  model.next('research', (req, reply) => reply.call(['ask_user', { question: 'Which sea?' }]));
  await say(r.id, words(2000, 'salt '));
  await aside.until((s) => s.runs.get(r.id)?.state === 'awaiting_input');

  // A reply counts as well, and one that is refused leaves the question open.
  assertRefused(await post(`/runs/${r.id}/reply`, words(2400)));
  assert.equal((await run(r.id)).run.state, 'awaiting_input');

  // Entry: the operation is refused and the model told; the message stays.
  for (const name of ['adjust_research', 'reply_research']) {
    model.next('entry', (req, reply) => reply.call([name, { run: r.id }]));
    model.next('answer', (req, reply) => {
      assert.match(req.body.messages.at(-1).content, /say it in fewer words/);
      reply.answer('That is too much for it.');
    });
    const { run: short } = await send(words(2600, 'ice '));
    assert.equal((await whole(short.id)).run.answer.body, 'That is too much for it.');
  }
  assert.equal((await run(r.id)).handoffs.length, 1);

  // start_research with a message that may be answered, but not researched.
  model.next('entry', (req, reply) => reply.call(['start_research', { title: 'Too much' }]));
  model.next('answer', (req, reply) => {
    assert.match(req.body.messages.at(-1).content, /say it in fewer words/);
    reply.answer('Too long.');
  });
  const { run: long } = await send(words(12400, 'ice '));
  const answered = await whole(long.id);
  assert.deepEqual([answered.run.kind, answered.run.answer.body], ['short', 'Too long.']);

  // At an ended research the bound holds for what was not applied, so that a
  // continuation can always take it over; its own words count beside it.
  await stop(r.id);
  assert.equal((await say(r.id, words(2200, 'ebb '))).handoff.state, 'not_applied');
  assertRefused(await post(`/runs/${r.id}/adjustments`, words(400)));
  assertRefused(await post(`/runs/${r.id}/continue`, words(10200)));
  model.next('entry', (req, reply) => reply.call(['continue_research', { run: r.id }]));
  model.next('answer', (req, reply) => reply.answer('Shorter, please.'));
  const { run: by } = await send(words(10200, 'more '));
  assert.equal((await whole(by.id)).run.answer.body, 'Shorter, please.');
  assert.equal(await sql('SELECT count(*) FROM run WHERE continues IS NOT NULL'), '0');
  assert.equal(await sql("SELECT count(*) FROM slot WHERE class = 'background'"), '0');
  const next = await aside.api('POST', `/runs/${r.id}/continue`, {});
  assert.equal(next.status, 202, next.text);
  const end = await whole(next.json.run.id);
  assert.equal(end.handoffs.length, 1);
  assert.equal(end.handoffs[0].state, 'handed');
  await assertSettled(sql);
});

test('R15 of many adjustments each stands whole in every request, and the reminder names them all', BOUND, async (t) => {
  const { model, research, say, whole, sql } = await started(t, {
    'model.context_tokens': 12000, 'model.max_output_tokens': 500, 'model.prompt_tokens': 7000,
    'budget.normal.tokens': 10000000, 'budget.normal.requests': 60 });
  const N = 20;
  const added = (i) => `Add harbour ${i}: ${'salt and herring, '.repeat(8)}\n\tand no. ${i} is all.`;
  const said = [];
  let page = 0;
  model.on('research', async (req, reply) => {
    const marks = req.body.messages.filter((m) => m.content?.startsWith('[adjustment ')).length;
    if (marks < N) { // the next one interrupts it
      reply.text('x');
      await reply.hold('more');
    } else if (page < 8) {
      reply.call(['fault_large', { page: page++ }]);
    } else {
      reply.report('# Done', [r.message_id, ...said].map((id) => ({ id, status: 'covered' })));
    }
  });
  const r = await research('the harbours');
  for (let i = 0; i < N; i++) said.push((await say(r.id, added(i))).message.id);
  const end = await whole(r.id);
  const late = model.requests.at(-1).body.messages.map((m) => m.content);
  assert.ok(late.some((x) => /^\[notice\]\nTo make room, \d+ earlier steps/.test(x)), 'steps went');
  assert.deepEqual(late.filter((x) => x?.startsWith('[adjustment ')),
    said.map((id, i) => `[adjustment ${id}]\n${added(i)}`));
  const [, more, ids] = /\(before these (\d+) more, which stand above: ([^)]*)\)/.exec(late.at(-1));
  assert.ok(more > 5 && more < N, more);
  assert.deepEqual(ids.split(' '), said.slice(0, more));
  assert.deepEqual(late.at(-1).match(/\nmsg_\d+(?=: Add)/g).map((x) => x.trim()), said.slice(more));
  assert.deepEqual([end.run.state, end.run.coverage.length], ['completed', N + 1]);
  await assertSettled(sql);
});

test('R02 a refused adjustment binds no key', BOUND, async (t) => {
  const { model, aside, research, stop } = await started(t, SMALL);
  model.next('research', async (req, reply) => {
    reply.text('x');
    await reply.hold('first');
  });
  const r = await research(words(8000));
  await model.held('first');
  const put = (body) => aside.api('POST', `/runs/${r.id}/adjustments`, { body }, { key: 'one' });
  const replies = await Promise.all([words(5000), words(4800), words(4600)].map(put));
  replies.forEach(assertRefused);
  const taken = await put('shorter');
  assert.equal(taken.status, 202, taken.text);
  assert.equal(taken.json.replayed, false);
  assert.equal((await put('shorter')).json.replayed, true);
  await stop(r.id);
});
