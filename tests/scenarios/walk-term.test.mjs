// walk-term.test.mjs - SIGTERM at every phase of a Run: what is under way is
// interrupted as `shutdown`, nothing counts as a crash, all goes on afterwards.

import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';

import { eventually } from '../support/harness.mjs';
import { holdWriteLock } from '../support/lock.mjs';
import { textOf } from '../support/scripted-model.mjs';
import { assertCallsAnswered, assertSettled, shelf, started } from '../support/started.mjs';
import { BOUND } from '../support/patience.mjs';

/** Each Run does what its message says, until the script is told to be quick. */
function scriptPhases(model, state) {
  const short = async (req, reply) => {
    reply.text('half ');
    if (!state.quick) {
      await reply.hold('short');
    }
    reply.text('whole').finish().usage().done();
  };
  model.on('entry', short);
  model.on('answer', short); // with all places taken nothing can be started
  model.on('research', async (req, reply) => {
    const text = textOf(req.body);
    const answered = req.body.messages.some((m) => m.role === 'tool');
    if (text.includes('asks') && !answered) {
      reply.call(['ask_user', { question: 'Which?' }]);
    } else if (text.includes('looks up') && !answered) {
      reply.call(['library_search', { query: 'tides' }]);
    } else if (text.includes('throttled') && !state.throttled) {
      state.throttled = true;
      reply.status(429, { 'retry-after': '3' });
    } else if (state.quick || text.includes('queued')) {
      reply.report('# R');
    } else {
      if (text.includes('streams')) {
        reply.text('so far');
      }
      await reply.hold(text.includes('streams') ? 'streams' : 'silent');
    }
  });
}

test('SIGTERM with a Run in every phase at once', BOUND, async (t) => {
  const w = await started(t, { 'background.limit': 6, 'model.max_concurrent': 3, 'db.busy_timeout_ms': 30000 }, { library: await shelf(t) });
  const { model, aside, send, say, run, sql } = w;
  const state = { quick: false };
  scriptPhases(model, state);
  await eventually(() => /indexed 2/.test(aside.part('asided').log));
  await aside.kill('asided', 'SIGTERM');
  // whoever looks something up waits for the indexer, which waits for this
  const lock = await holdWriteLock(path.join(aside.dataDir, 'library.db'), 60000);
  await aside.restart('asided');
  const runs = {};
  const begin = async (what, reached) => {
    // a conversation of its own, so that no prompt tells of another
    const made = await aside.api('POST', '/conversations', {});
    const sent = await aside.api('POST', `/conversations/${made.json.conversation.id}/messages`,
      { body: `one that ${what}`, mode: 'background' });
    assert.equal(sent.status, 202, sent.text);
    runs[what] = sent.json.run;
    await reached(runs[what].id);
  };
  const phase = (id, wanted) => aside.until((s) => s.runs.get(id)?.phase === wanted);
  await begin('asks', (id) => aside.until((s) => s.runs.get(id)?.state === 'awaiting_input'));
  await begin('looks up', (id) => aside.until((s) =>
    [...s.toolCalls.values()].some((c) => c.run_id === id && c.state === 'sent')));
  await begin('is throttled', (id) => phase(id, 'waiting_for_provider'));
  await begin('is silent', () => model.held('silent'));
  await begin('streams', () => model.held('streams'));
  runs.short = (await send('question')).run;
  await model.held('short');
  await aside.until((s) => s.answer(runs.short.id) === 'half ');
  await begin('is queued', (id) => phase(id, 'waiting_for_provider'));

  const exit = await aside.part('asided').stop();
  assert.equal(exit.code, 0);
  const requests = async (what) => (await run(runs[what].id)).requests;
  for (const what of ['is silent', 'streams', 'short']) {
    const [q] = await requests(what);
    assert.deepEqual([q.state, q.cause, q.usage.known], ['interrupted', 'shutdown', false], what);
    assert.ok(q.usage.estimate > 0);
  }
  assert.deepEqual((await requests('is queued')).map((q) => [q.state, q.sent_at]), [['planned', null]]);
  assert.deepEqual((await requests('is throttled')).map((q) => q.state), ['failed', 'planned']);
  assert.equal((await run(runs.asks.id)).run.state, 'awaiting_input');
  assert.equal((await run(runs['looks up'].id)).tool_calls[0].state, 'sent');

  await lock.release();
  state.quick = true;
  await aside.restart('asided');
  await say(runs.asks.id, 'this one', 'reply');
  for (const [what, { id }] of Object.entries(runs)) {
    const end = await w.whole(id);
    assert.equal(end.run.state, 'completed', what);
    assert.equal(await sql(`SELECT crashes FROM run WHERE id = ${id.slice(4)}`), '0');
    const late = end.requests.filter((q) => !['done', 'failed'].includes(q.state));
    assert.ok(late.every((q) => q.cause === 'shutdown'), what);
  }
  const short = (await run(runs.short.id)).run;
  assert.deepEqual([short.answer.revision, short.answer.body], [2, 'half whole']);
  assert.deepEqual((await run(runs['looks up'].id)).tool_calls.map((c) => c.state), ['done', 'done']);
  assertCallsAnswered(model);
  await assertSettled(sql);
});

test('SIGTERM before a commit: what has happened by then is kept, not done again', BOUND, async (t) => {
  const w = await started(t);
  const { model, aside, research, send, whole, sql } = w;
  const file = path.join(aside.dir, 'effects');
  aside.env.ASIDE_FAULT_FILE = file;
  await aside.restart('asided');
  model.next('research', async (req, reply) => {
    reply.text('x');
    await reply.hold('research');
    reply.call(['fault_once', {}]);
  });
  model.next('entry', async (req, reply) => {
    reply.text('half ');
    await reply.hold('short');
    reply.text('whole').finish().usage().done();
  });
  const r = await research('the sea');
  const { run: s } = await send('question');
  const deep = await model.held('research');
  const short = await model.held('short');
  await aside.until((state) => state.answer(s.id) === 'half ');
  await holdWriteLock(path.join(aside.dataDir, 'aside.db'), 1500);
  deep.release();
  short.release();
  await aside.part('asided').logged(/ended: done[^]*ended: done/);
  assert.equal((await aside.part('asided').stop()).code, 0);
  const kept = async (id) => (await w.run(id)).requests.map((q) => [q.state, q.cause, q.usage.known]);
  assert.deepEqual(await kept(r.id), [['done', null, true]]);
  assert.deepEqual(await kept(s.id), [['done', null, true]]);
  assert.equal((await whole(s.id)).run.answer.body, 'half whole');

  // and a tool's result
  const tried = await sql(`SELECT state FROM tool_call WHERE run_id = ${r.id.slice(4)}`);
  assert.equal(tried, 'planned');
  aside.launch('asided');
  const end = await whole(r.id);
  assert.equal(end.run.state, 'completed');
  assert.equal(end.tool_calls[0].state, 'done');
  assert.equal(await readFile(file, 'utf8'), 'done\n');
  assertCallsAnswered(model);
  await assertSettled(sql);
});
