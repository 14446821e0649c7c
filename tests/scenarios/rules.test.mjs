// rules.test.mjs - rules of DESIGN 4 that need a scene of their own. Others stand
// in runtime.test.mjs (the plain course of things) and in attack-*.test.mjs (the
// same under trouble); `grep -rn R07 tests` finds all that hold a rule.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { assertCallsAnswered, assertSettled, history, shelf, started } from '../support/started.mjs';
import { BOUND } from '../support/patience.mjs';

const names = (body) => (body.tools ?? []).map((tool) => tool.function.name);
const OPERATIONS = ['start_research', 'adjust_research', 'stop_research', 'inspect_research',
  'reply_research', 'continue_research'];
const operations = (body) => names(body).filter((name) => OPERATIONS.includes(name));

test('R03 CASES C-4 D-6: answers, tools and controls belong to their Run, in whatever order they come', BOUND,
  async (t) => {
    const { model, aside, conv, send, research, stop, ended, run, sql } = await started(
      t, {}, { library: await shelf(t) });
    model.next('research', async (req, reply) => {
      reply.text('I look. ');
      await reply.hold('research');
      reply.call(['library_search', { query: 'tides' }]);
    });
    const r = await research('the sea');
    const looking = await model.held('research');
    const said = [];
    for (const word of ['one', 'two', 'three']) {
      model.next('entry', async (req, reply) => {
        reply.text(`About ${word}`);
        await reply.hold(word);
        reply.answer(', done.');
      });
      said.push(await send(word));
      await aside.until((s) => s.answer(said.at(-1).run.id) === `About ${word}`);
    }
    await stop(said[1].run.id); // the one in the middle; C-4: nothing else
    for (const word of ['three', 'one']) {
      (await model.held(word)).release();
    }
    await ended(said[0].run.id);
    await ended(said[2].run.id);
    looking.release();
    await ended(r.id);
    const read = (await aside.api('GET', `/conversations/${conv}`)).json;
    assert.deepEqual(read.messages.map((m) => m.body), ['the sea', 'one', 'two', 'three']);
    for (const m of read.messages.slice(1)) {
      const answer = read.runs.find((x) => x.id === m.run_id);
      assert.equal(answer.message_id, m.id);
      assert.equal(answer.answer.body, m.body === 'two' ? 'About two' : `About ${m.body}, done.`);
      assert.equal(answer.state, m.body === 'two' ? 'stopped' : 'completed');
    }
    const whole = await run(r.id);
    assert.equal(whole.run.state, 'completed');
    assert.deepEqual(whole.tool_calls.map((c) => c.run_id), [r.id, r.id]);
    await assertSettled(sql);
  });

test('R05 a retry and text beside look-ups open a new revision; parts never split a character', BOUND,
  async (t) => {
    const { model, aside, send, whole, sql } = await started(t, {}, { library: await shelf(t) });
    const words = ['Die ', 'Flüsse tragen ', '盐 ', 'ins Meer 🌊', ' – ja.'];
    model.next('entry', async (req, reply) => {
      reply.text('Ich schaue nach …');
      await aside.until((s) => [...s.runs.keys()].some((id) => s.answer(id) !== ''));
      reply.call(['library_search', { query: 'salt' }]);
    });
    model.next('answer', async (req, reply) => {
      // Characters torn over the packets of the provider.
      const bytes = Buffer.from(words.map((w) => `data: ${JSON.stringify({
        choices: [{ index: 0, delta: { content: w } }] })}\n\n`).join(''));
      for (let i = 0; i < bytes.length; i += 7) {
        reply.raw(bytes.subarray(i, i + 7));
        if (i % 140 === 0) {
          await new Promise((resolve) => setTimeout(resolve, 20));
        }
      }
      reply.finish().usage().done();
    });
    const { run: r } = await send('Wie kommt das Salz ins Meer?');
    const end = await whole(r.id);
    assert.equal(end.run.answer.body, words.join(''));
    const parts = [];
    for (let after = 0; ;) {
      const page = (await aside.api('GET', `/changes?after=${after}&wait=0`)).json;
      parts.push(...page.changes.filter((c) => c.kind === 'answer.part'));
      if (page.changes.length === 0) {
        break;
      }
      after = page.next;
    }
    const revisions = [...new Set(parts.map((p) => p.revision))];
    assert.deepEqual(revisions, [1, 2]);
    assert.equal(end.run.answer.revision, 2);
    for (const revision of revisions) {
      const own = parts.filter((p) => p.revision === revision);
      assert.deepEqual(own.map((p) => p.part), own.map((_, i) => i + 1));
      assert.ok(own.every((p) => !p.text.includes('\ufffd')));
    }
    const last = parts.filter((p) => p.revision === 2);
    assert.equal(last.map((p) => p.text).join(''), words.join(''));
    assert.ok(last.length > 1, 'it was streamed');
    assert.equal(end.run.answer.parts, last.length);
    await assertSettled(sql);
  });

test('R07 the operations offered follow the facts of that moment', BOUND, async (t) => {
  const { model, aside, send, research, say, ended, stop } = await started(t, { 'background.limit': 2 });
  const offered = async (text) => {
    const seen = model.requests.length;
    const { run: r } = await send(text);
    await ended(r.id);
    const { body } = model.requests[seen];
    return { operations: operations(body), facts: body.messages.at(-2).content };
  };
  assert.deepEqual((await offered('nothing runs')).operations, ['start_research']);
  model.next('research', async (req, reply) => {
    reply.text('I look at tides. ');
    await reply.hold('a');
    reply.call(['ask_user', { question: 'Which sea?' }]);
  });
  const a = await research('the sea');
  const held = await model.held('a');
  let now = await offered('one runs');
  assert.deepEqual(now.operations,
    ['start_research', 'adjust_research', 'stop_research', 'inspect_research']);
  assert.match(now.facts, new RegExp(`research ${a.id} \\| running \\| "the sea" \\| elapsed \\d+ s`));
  held.release();
  await aside.until((s) => s.runs.get(a.id)?.state === 'awaiting_input');
  now = await offered('one asks');
  assert.deepEqual(now.operations,
    ['start_research', 'adjust_research', 'stop_research', 'inspect_research', 'reply_research']);
  assert.match(now.facts, /asks: Which sea\?/);
  model.next('research', (req, reply) => reply.call(['ask_user', { question: 'Which sky?' }]));
  const b = await research('the sky');
  await aside.until((s) => s.runs.get(b.id)?.state === 'awaiting_input');
  now = await offered('both places taken');
  assert.deepEqual(now.operations,
    ['adjust_research', 'stop_research', 'inspect_research', 'reply_research']);
  assert.match(now.facts, /background slots: 2 of 2 used/);
  await stop(b.id);
  await say(a.id, 'the North Sea', 'reply');
  await ended(a.id);
  now = await offered('both ended');
  assert.deepEqual(now.operations, ['start_research', 'continue_research']);
  // Another conversation knows nothing of them.
  const other = (await aside.api('POST', '/conversations', {})).json.conversation.id;
  const seen = model.requests.length;
  const there = await aside.api('POST', `/conversations/${other}/messages`, { body: 'hello' });
  await ended(there.json.run.id);
  assert.deepEqual(operations(model.requests[seen].body), ['start_research']);
  assert.ok(!model.requests[seen].raw.includes(a.id));
});

test('R07 R12 an operation on a Run of another conversation, an ended one or a short one is refused inside', BOUND,
  async (t) => {
    const { model, aside, send, research, whole, run, sql } = await started(t, { 'background.limit': 2 });
    model.on('research', async (req, reply) => {
      reply.text('x');
      await reply.hold('research');
    });
    const own = await research('ours');
    await model.held('research');
    const other = (await aside.api('POST', '/conversations', {})).json.conversation.id;
    const foreign = (await aside.api('POST', `/conversations/${other}/messages`,
      { body: 'theirs', mode: 'background' })).json.run;
    await model.held('research');
    const short = await send('a short one');
    await whole(short.run.id);
    for (const id of [foreign.id, short.run.id, 'run_0', 'run_99999999999999999999', '', 'own']) {
      model.next('entry', (req, reply) => reply.call(
        ['adjust_research', { run: id }], ['stop_research', { run: id }], ['inspect_research', { run: id }]));
      model.next('answer', (req, reply) => {
        const told = req.body.messages.slice(-3).map((m) => m.content);
        assert.ok(told.every((x) => /no such research/.test(x)), told.join('\n'));
        reply.answer('There is none.');
      });
      const end = await whole((await send(`about "${id}"`)).run.id);
      assert.equal(end.run.answer.body, 'There is none.');
      assert.ok(end.tool_calls.every((c) => c.state === 'failed'));
    }
    for (const id of [own.id, foreign.id]) {
      const seen = await run(id);
      assert.deepEqual([seen.run.state, seen.handoffs.length], ['running', 0]);
      await aside.api('POST', `/runs/${id}/stop`);
    }
    await assertSettled(sql);
    assertCallsAnswered(model);
  });

test('R09 a stopped answer stands by its partial text, marked so', BOUND, async (t) => {
  const { model, aside, send, stop, ended } = await started(t);
  model.next('entry', async (req, reply) => {
    reply.text('The moon pulls');
    await reply.hold('slow');
  });
  const { run: r } = await send('Why tides?');
  await aside.until((s) => s.answer(r.id) === 'The moon pulls');
  await stop(r.id);
  const next = await send('And then?');
  await ended(next.run.id);
  const said = model.requests.at(-1).body.messages.map((m) => m.content);
  assert.ok(said.includes('The moon pulls\n(stopped here by the person)'), said.join('\n'));
  assert.equal(said.at(-1), 'And then?');
});

test('R13 what is returned as a request\'s input is exactly what was sent', BOUND, async (t) => {
  const { model, aside, research, say, whole } = await started(
    t, { 'budget.normal.requests': 4 }, { library: await shelf(t) });
  model.next('research', (req, reply) => reply.call(['library_search', { query: 'tides' }]));
  model.next('research', async (req, reply) => {
    reply.text('x');
    await reply.hold('second');
  });
  model.next('research', (req, reply) => reply.status(500));
  const r = await research('Ebbe & Flut – "warum" \u2028 \ud83c\udf0a?');
  await model.held('second');
  await say(r.id, 'und Salz <b>');
  const end = await whole(r.id);
  const sent = end.requests.filter((q) => q.state !== 'skipped');
  assert.equal(sent.length, model.requests.length);
  await aside.kill('asided');
  for (const [i, q] of sent.entries()) {
    const input = await aside.api('GET', `/requests/${q.id}/input`);
    assert.equal(input.text, model.requests[i].raw.toString('utf8'), q.id);
  }
  await aside.restart('asided');
});

test('R18 the place was taken while entry thought: it stays short and says so', BOUND, async (t) => {
  const { model, aside, send, research, whole, run, sql } = await started(t);
  model.next('entry', async (req, reply) => {
    assert.ok(names(req.body).includes('start_research'));
    reply.text('I begin. ');
    await reply.hold('thinking');
    reply.call(['start_research', { title: 'The sky' }]);
  });
  model.next('answer', (req, reply) => {
    assert.match(req.body.messages.at(-1).content, /neither accepted nor queued/);
    assert.deepEqual(operations(req.body), []);
    reply.answer('No place is free.');
  });
  model.on('research', async (req, reply) => {
    reply.text('x');
    await reply.hold('research');
    reply.report('# Sea');
  });
  const { run: r } = await send('research the sky');
  const thinking = await model.held('thinking');
  const first = await research('the sea');
  const going = await model.held('research');
  thinking.release();
  const end = await whole(r.id);
  assert.deepEqual([end.run.kind, end.run.state], ['short', 'completed']);
  assert.equal(end.run.answer.body, 'No place is free.');
  const over = (await aside.api('GET', '/overview')).json;
  assert.deepEqual(over.occupancy.background, { used: 1, limit: 1 });
  going.release();
  await whole(first.id);
  assert.equal((await run(first.id)).run.state, 'completed');
  await assertSettled(sql);
});

test('R20 slots, budget and the provider\'s places are three things, shown apart', BOUND, async (t) => {
  const { model, aside, send, research, stop, run } = await started(
    t, { 'model.max_concurrent': 1, 'background.limit': 2 });
  model.on((q) => q.purpose !== 'answer', async (req, reply) => {
    reply.text('x');
    await reply.hold('at work');
  });
  const a = await research('the sea');
  await model.held('at work');
  const b = await research('the sky');
  const c = (await send('and a question')).run;
  await aside.until((s) => [b, c].every((r) => s.runs.get(r.id)?.phase === 'waiting_for_provider'));
  const over = (await aside.api('GET', '/overview')).json;
  assert.deepEqual(over.occupancy, { short: { used: 1, limit: 3 }, background: { used: 2, limit: 2 } });
  const waiting = await run(b.id);
  assert.deepEqual(waiting.run.budget.requests, { used: 0, limit: 24 });
  assert.deepEqual(waiting.requests.map((q) => q.state), ['planned']);
  await stop(a.id);
  // The question goes first, though it came last.
  await model.wait(() => model.requests.length === 2, 'a second request');
  assert.equal(model.requests[1].purpose, 'entry');
  await stop(c.id);
  await model.wait(() => model.requests.length === 3, 'a third request');
  assert.equal(model.requests[2].purpose, 'research');
  await stop(b.id);
});

test('R25 what an interrupted request used is unknown, estimated and counted', BOUND, async (t) => {
  const { model, research, say, whole, sql } = await started(t);
  model.next('research', async (req, reply) => {
    reply.text('I have thought about this at some length. '.repeat(50));
    await reply.hold('thinking');
  });
  const r = await research('the sea');
  await model.held('thinking');
  await say(r.id, 'and salt');
  const end = await whole(r.id);
  const [cut, done] = end.requests;
  assert.deepEqual([cut.state, cut.cause], ['interrupted', 'adjustment']);
  assert.deepEqual([cut.usage.known, cut.usage.input_tokens, cut.usage.output_tokens], [false, null, null]);
  assert.ok(cut.usage.estimate > 50 * 7, 'the text that came is in the estimate');
  assert.equal(done.usage.known, true);
  assert.deepEqual(end.run.budget.tokens.unknown_requests, 1);
  assert.equal(end.run.budget.tokens.used, cut.usage.estimate + 110);
  await assertSettled(sql);
});

test('R21 while the next request is only planned or waits for a place, an adjustment replaces it', BOUND,
  async (t) => {
    const { model, aside, research, say, stop, whole, run, sql } = await started(
      t, { 'model.max_concurrent': 1, 'background.limit': 2 });
    model.next('research', async (req, reply) => {
      reply.text('x');
      await reply.hold('first');
    });
    const a = await research('the sea');
    await model.held('first');
    const b = await research('the sky');
    await aside.until((s) => s.runs.get(b.id)?.phase === 'waiting_for_provider');
    for (const body of ['and salt', 'and ice', 'and wind']) {
      await say(b.id, body);
      await aside.until((s) => [...s.requests.values()].some((q) => q.run_id === b.id && q.state === 'planned') &&
        [...s.requests.values()].every((q) => q.run_id !== b.id || q.state !== 'sent'));
    }
    await stop(a.id);
    const end = await whole(b.id);
    const skipped = end.requests.filter((q) => q.state === 'skipped');
    assert.ok(skipped.length >= 1);
    for (const q of skipped) {
      assert.equal(q.cause, 'adjustment');
      assert.deepEqual([q.usage.known, q.usage.input_tokens, q.usage.output_tokens], [true, 0, 0]);
    }
    assert.equal(end.run.budget.requests.used, 1, 'what was not sent does not count');
    const took = model.requests.at(-1);
    assert.deepEqual(history(took).slice(-3).map((m) => m.content.split('\n')[1]),
      ['and salt', 'and ice', 'and wind'], 'order is kept, and they share a request');
    assert.ok(end.handoffs.every((h) => h.state === 'handed' && h.request_id === end.requests.at(-1).id));
    assert.equal((await run(a.id)).run.state, 'stopped');
    await assertSettled(sql);
  });

test('R26 CASES J-4: the same failing call asked for three times ends the loop', BOUND, async (t) => {
  const { model, research, whole, sql } = await started(t, {}, { library: await shelf(t) });
  model.on('research', (req, reply) => reply.call(['library_read', { location: 'no/such/page' }]));
  const end = await whole((await research('the sea')).id);
  assert.deepEqual(end.requests.map((q) => q.purpose), ['research', 'research', 'research', 'closeout']);
  assert.deepEqual([end.run.state, end.run.reason], ['incomplete', 'partial_coverage']);
  assert.equal(end.run.answer.body, 'A scripted closing report.');
  assertCallsAnswered(model);
  await assertSettled(sql);
});
