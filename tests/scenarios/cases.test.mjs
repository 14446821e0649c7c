// cases.test.mjs - what users of comparable systems reported in public, each as
// its kind. The ids are those that the issue trackers' reports are listed under;
// the thread is named beside each. Others stand where their rule is tested:
// `grep -rn "CASES" tests`.

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';

import { assertCallsAnswered, assertSettled, history, nothingUnderWay, shelf, started } from '../support/started.mjs';
import { BOUND } from '../support/patience.mjs';

const ENDED = ['completed', 'incomplete', 'failed', 'stopped'];

/** A research that stands in hold(name) with some text said. */
async function atWork(s, body, name = 'at work', then = (reply) => reply.report('# Done')) {
  s.model.next('research', async (req, reply) => {
    reply.text('I look. ');
    if (await reply.hold(name) === 'released') {
      then(reply);
    }
  });
  const r = await s.research(body);
  return { r, held: await s.model.held(name) };
}

// --- C: a stop that does not stop, or stops the wrong thing

test('CASES C-2 (dify#18481): after a stop in the first step no later step starts', BOUND, async (t) => {
  const s = await started(t, {}, { library: await shelf(t) });
  const { r, held } = await atWork(s, 'three steps', 'step 1', (reply) => reply.call(
    ['library_search', { query: 'tides' }], ['note', { text: 'never' }]));
  await s.stop(r.id);
  held.release();
  // Something that comes after it in every queue has come; then nothing of it may.
  await s.whole((await s.send('a question after the stop')).run.id);
  await nothingUnderWay(s.aside);
  const end = await s.run(r.id);
  assert.deepEqual([end.run.state, end.requests.length, end.tool_calls.length], ['stopped', 1, 0]);
  assert.equal(s.model.requests.filter((q) => q.purpose === 'research').length, 1);
  assert.equal(await s.sql('SELECT count(*) FROM note'), '0');
  await assertSettled(s.sql);
});

test('CASES C-3 C-6 C-9 (dify#29688, paseo#4594, a2a-python#1175): every view shows stopped in one poll', BOUND,
  async (t) => {
    const s = await started(t);
    const { r } = await atWork(s, 'the sea');
    const watchers = await Promise.all([0, 1, 2].map(async () => {
      const feed = s.aside.feed();
      await feed.until((x) => x.runs.get(r.id)?.state === 'running');
      return feed;
    }));
    const told = watchers.map((feed) => feed.until((x) => x.runs.get(r.id).state === 'stopped'));
    await s.stop(r.id);
    await Promise.all(told);
    const get = async (where) => (await s.aside.api('GET', where)).json;
    assert.equal((await get(`/runs/${r.id}`)).run.state, 'stopped');
    assert.equal((await get(`/runs/${r.id}`)).run.reason, 'stopped_by_user');
    assert.equal((await get(`/conversations/${s.conv}`)).runs[0].state, 'stopped');
    assert.deepEqual((await get('/overview')).runs, []);
    assert.deepEqual((await get('/runs?state=stopped')).runs.map((x) => x.id), [r.id]);
    assert.deepEqual((await get('/runs?state=failed')).runs, []);
    await assertSettled(s.sql);
  });

test('CASES C-5 (opencode#28738): with nothing open, a Run is found in the list and stopped by its id', BOUND,
  async (t) => {
    const s = await started(t);
    const { r } = await atWork(s, 'the sea');
    const list = (await s.aside.api('GET', '/runs?state=running')).json.runs;
    assert.deepEqual(list.map((x) => x.id), [r.id]);
    const reply = await s.aside.api('POST', `/runs/${list[0].id}/stop`);
    assert.deepEqual([reply.status, reply.json.run.state], [202, 'stopped']);
    const again = await s.aside.api('POST', `/runs/${r.id}/stop`);
    assert.deepEqual([again.status, again.json.run.ended_at], [202, reply.json.run.ended_at]);
    await assertSettled(s.sql);
  });

// --- E: duplicate Runs and lost confirmations

test('CASES E-5 (dify#39686): after the reply to a question the same Run goes on, and no second one', BOUND,
  async (t) => {
    const s = await started(t);
    s.model.next('research', (req, reply) => reply.call(['ask_user', { question: 'Which sea?' }]));
    const r = await s.research('the sea');
    await s.aside.until((x) => x.runs.get(r.id)?.state === 'awaiting_input');
    const key = randomUUID();
    const replies = await Promise.all([0, 1, 2].map(() => s.aside.api(
      'POST', `/runs/${r.id}/reply`, { body: 'the North Sea' }, { key })));
    assert.deepEqual(replies.map((x) => x.status), [202, 202, 202]);
    assert.equal(new Set(replies.map((x) => x.json.handoff.id)).size, 1);
    await s.whole(r.id);
    await s.aside.api('GET', `/conversations/${s.conv}`); // the page is loaded anew
    const late = await s.aside.api('POST', `/runs/${r.id}/reply`, { body: 'the North Sea' }, { key });
    assert.deepEqual([late.status, late.json.replayed], [202, true]);
    assert.equal(await s.sql('SELECT count(*) FROM run'), '1');
    assert.equal(s.model.requests.length, 2);
    await assertSettled(s.sql);
  });

test('CASES E-6 D-9 (pi-task#15): a result is told once, however many watch and whoever restarts', BOUND,
  async (t) => {
    const s = await started(t);
    const { r, held } = await atWork(s, 'the sea');
    const feeds = [0, 1, 2, 3].map(() => s.aside.feed());
    held.release();
    await s.whole(r.id);
    await s.aside.kill('asided');
    await s.aside.restart('asided');
    for (const feed of feeds) {
      const seen = [];
      for (let page = await feed.poll(); page.changes.length > 0; page = await feed.poll()) {
        seen.push(...page.changes);
      }
      assert.equal(seen.filter((c) => c.kind === 'notification.created').length, 1);
      const ends = seen.filter((c) => c.kind === 'run.updated' && ENDED.includes(c.run.state));
      assert.equal(new Set(ends.map((c) => JSON.stringify(c.run))).size, 1);
    }
    assert.equal(s.model.requests.length, 1, 'no second answer was asked for');
    await assertSettled(s.sql);
  });

test('CASES E-7 (hermes-agent#97635): a result is where it was asked for, wherever the person is meanwhile', BOUND,
  async (t) => {
    const s = await started(t);
    const { r, held } = await atWork(s, 'the sea');
    const other = (await s.aside.api('POST', '/conversations', {})).json.conversation.id;
    const there = await s.aside.api('POST', `/conversations/${other}/messages`, { body: 'elsewhere' });
    held.release();
    const end = await s.whole(r.id);
    await s.ended(there.json.run.id);
    assert.equal(end.run.conversation_id, s.conv);
    const [a, b] = await Promise.all([s.conv, other].map(
      async (id) => (await s.aside.api('GET', `/conversations/${id}`)).json));
    assert.deepEqual(a.runs.map((x) => x.id), [r.id]);
    assert.deepEqual(b.runs.map((x) => x.id), [there.json.run.id]);
    assert.deepEqual([a.conversation.unread > 0, b.conversation.unread], [true, 0]);
  });

test('CASES E-8 (github/app#430): one message waits for its answer while another steers the research', BOUND,
  async (t) => {
    const s = await started(t, { 'model.max_concurrent': 1 });
    const { r, held } = await atWork(s, 'the sea');
    const m1 = await s.send('what is seven times six?'); // waits for the one place
    await s.aside.until((x) => x.runs.get(m1.run.id)?.phase === 'waiting_for_provider');
    const m2 = await s.say(r.id, 'and salt');
    assert.deepEqual([m2.message.run_id, m2.handoff.run_id], [null, r.id]);
    held.release();
    await s.ended(m1.run.id);
    const end = await s.whole(r.id);
    assert.deepEqual(end.handoffs.map((h) => [h.message_id, h.state]), [[m2.message.id, 'handed']]);
    const entry = s.model.requests.find((q) => q.purpose === 'entry');
    assert.equal(entry.body.messages.at(-1).content, 'what is seven times six?');
    await assertSettled(s.sql);
  });

// --- F: steering lost, misplaced or falsely confirmed

test('CASES F-1 F-5 (openclaw#128008, CadencR#42): adjusted during tools, stopped at once: all told so', BOUND,
  async (t) => {
    const s = await started(t, {}, { library: await shelf(t) });
    for (let i = 0; i < 10; i++) {
      s.model.next('research', (req, reply) => reply.call(
        ...Array.from({ length: 8 }, (_, n) => ['library_search', { query: `tides ${n}` }])));
      s.model.next('research', async (req, reply) => {
        await reply.head().hold(`second ${i}`);
      });
      const r = await s.research(`the sea ${i}`);
      await s.aside.until((x) => [...x.toolCalls.values()].some((c) => c.run_id === r.id));
      const said = await Promise.all([s.say(r.id, 'and salt'), s.say(r.id, 'and ice')]);
      await s.stop(r.id);
      const end = await s.run(r.id);
      assert.deepEqual(end.handoffs.map((h) => h.id).sort(), said.map((x) => x.handoff.id).sort());
      for (const h of end.handoffs) {
        assert.ok(h.state === 'handed' || h.reason === 'run_stopped', JSON.stringify(h));
      }
      await nothingUnderWay(s.aside);
      s.model.once.length = 0; // what the stop came before
    }
    assertCallsAnswered(s.model);
    await assertSettled(s.sql);
  });

test('CASES F-3 (archive#176): an adjustment after the end is kept, told so, and starts nothing', BOUND,
  async (t) => {
    const s = await started(t);
    const r = await s.research('the sea');
    const before = await s.whole(r.id);
    const { message, handoff } = await s.say(r.id, 'and salt');
    assert.deepEqual([handoff.state, handoff.reason], ['not_applied', 'run_ended']);
    await s.whole((await s.send('something else')).run.id);
    const read = (await s.aside.api('GET', `/conversations/${s.conv}`)).json;
    assert.ok(read.messages.some((m) => m.id === message.id && m.body === 'and salt'));
    assert.ok(read.handoffs.some((h) => h.id === handoff.id));
    const after = await s.run(r.id);
    assert.deepEqual(after.run, before.run);
    assert.equal(s.model.requests.filter((q) => q.purpose === 'research').length, 1);
  });

test('CASES F-4 (sandboxed.sh#511): at full capacity an adjustment is stored before it is acknowledged', BOUND,
  async (t) => {
    const s = await started(t, { 'short.limit': 1 });
    const { r, held } = await atWork(s, 'the sea');
    s.model.next('entry', async (req, reply) => {
      await reply.head().hold('short');
      reply.answer('Done.');
    });
    await s.send('takes the only place');
    const refused = await s.aside.api('POST', `/conversations/${s.conv}/messages`, { body: 'no place' });
    assert.equal(refused.status, 429);
    const { message, handoff } = await s.say(r.id, 'and salt');
    assert.equal(await s.sql(`SELECT body FROM message WHERE id = ${message.id.slice(4)}`), 'and salt');
    assert.equal(await s.sql(`SELECT state IN ('received', 'handed') FROM handoff WHERE id = ${handoff.id.slice(5)}`), '1');
    assert.equal(await s.sql("SELECT count(*) FROM message WHERE body = 'no place'"), '0');
    (await s.model.held('short')).release();
    held.release();
    await s.whole(r.id);
  });

test('CASES F-6 (oh-my-pi#4480): what Aside says is not put into the person\'s mouth, nor the other way', BOUND,
  async (t) => {
    const s = await started(t);
    s.model.next('research', (req, reply) => reply.answer('Just text, no report.'));
    const r = await s.research('the sea');
    const end = await s.whole(r.id);
    assert.equal(end.run.state, 'completed');
    const second = history(s.model.requests[1]);
    assert.match(second.at(-1).content, /^\[notice\]\n/);
    assert.ok(!second.at(-1).content.includes('person'));
    const own = second.filter((m) => m.content?.includes('the sea'));
    assert.deepEqual(own.map((m) => m.content.split('\n')[0]), [`[requirement ${r.message_id}]`]);
  });

test('CASES F-8 (langgraphjs#864): every door adjusts, replies and stops alike', BOUND, async (t) => {
  const s = await started(t, { 'background.limit': 2 });
  const doors = {
    panel: {
      adjust: (r) => s.say(r.id, 'and salt'),
      reply: (r) => s.say(r.id, 'the North Sea', 'reply'),
      stop: (r) => s.stop(r.id),
    },
    entry: Object.fromEntries(['adjust', 'reply', 'stop'].map((verb) => [verb, async (r) => {
      s.model.next('entry', (req, reply) => reply.call([`${verb}_research`, { run: r.id }]));
      await s.ended((await s.send(verb === 'reply' ? 'the North Sea' : 'and salt')).run.id);
    }])),
  };
  const seen = {};
  for (const [door, verbs] of Object.entries(doors)) {
    const { r } = await atWork(s, 'the sea', 'first');
    s.model.next('research', (req, reply) => reply.call(['ask_user', { question: 'Which sea?' }]));
    s.model.next('research', async (req, reply) => {
      reply.text('x');
      await reply.hold('last');
    });
    await verbs.adjust(r);
    await s.aside.until((x) => x.runs.get(r.id)?.state === 'awaiting_input');
    await verbs.reply(r);
    await s.model.held('last');
    // Handed is known with the first piece that is stored; the stop comes after.
    await s.aside.until((x) => {
      const ours = [...x.handoffs.values()].filter((h) => h.run_id === r.id);
      return ours.length === 2 && ours.every((h) => h.state === 'handed');
    });
    await verbs.stop(r);
    await nothingUnderWay(s.aside);
    const end = await s.run(r.id);
    seen[door] = {
      state: [end.run.state, end.run.reason],
      handoffs: end.handoffs.map((h) => [h.kind, h.state, h.reason]),
      requests: end.requests.map((q) => [q.purpose, q.state, q.cause]),
      calls: end.tool_calls.map((c) => [c.name, c.state, c.cause]),
      asked: s.model.requests.filter((q) => q.purpose === 'research').slice(-3).map(
        (q) => history(q).at(-1).content.replace(/msg_\d+/g, 'msg')),
    };
    assert.ok(end.handoffs.every((h) => h.origin === door));
  }
  assert.deepEqual(seen.entry, seen.panel);
  assertCallsAnswered(s.model);
  await assertSettled(s.sql);
});

// --- G: transcript rules of providers

test('CASES G-1 G-2 G-4 G-5 (opencode#5750, aegra#191, claux#18): cut in mid-call, the conversation lives on', BOUND,
  async (t) => {
    const s = await started(t, {}, { library: await shelf(t) });
    s.model.next('research', async (req, reply) => {
      reply.toolCall('library_search', { query: 'tides' });
      reply.toolCall('library_read', '{"location": "ti');
      await reply.hold('mid-call');
    });
    const r = await s.research('the sea');
    await s.model.held('mid-call');
    await s.say(r.id, 'and salt');
    const end = await s.whole(r.id);
    assert.equal(end.run.state, 'completed');
    assert.deepEqual(end.tool_calls.map((c) => c.name), ['deliver_report'], 'a cut call never runs');
    assert.deepEqual(s.model.requests[1].body.messages.filter((m) => m.role === 'assistant'), [],
      'nothing goes on from a reply that did not complete');
    // Stopped in mid-call, then continued: the new Run is repaired on load.
    s.model.next('research', async (req, reply) => {
      reply.toolCall('library_search', { query: 'tides' });
      await reply.hold('mid-call');
    });
    const second = await s.research('the sky');
    await s.model.held('mid-call');
    await s.stop(second.id);
    const go = await s.aside.api('POST', `/runs/${second.id}/continue`, { body: 'go on' });
    assert.equal(go.status, 202, go.text);
    assert.equal((await s.whole(go.json.run.id)).run.state, 'completed');
    assertCallsAnswered(s.model);
    await assertSettled(s.sql);
  });

test('CASES G-7 (opencode#35689): reasoning goes back with its tool calls, under its own name', BOUND,
  async (t) => {
    for (const field of ['reasoning_content', 'reasoning']) {
      const s = await started(t, {}, { library: await shelf(t) });
      s.model.next('research', (req, reply) => {
        reply.delta({ [field]: 'The moon ' }).delta({ [field]: 'matters.' });
        reply.call(['library_search', { query: 'tides' }]);
      });
      await s.whole((await s.research('the sea')).id);
      const back = s.model.requests[1].body.messages.find((m) => m.role === 'assistant' && m.tool_calls);
      assert.equal(back[field], 'The moon matters.');
    }
  });

test('CASES G-10 (crush#279): for an endpoint that wants it, an answer stands between tool and person', BOUND,
  async (t) => {
    const s = await started(t, { 'model.name': 'mistral-small' }, { library: await shelf(t) });
    s.model.next('research', async (req, reply) => {
      reply.call(['library_search', { query: 'tides' }], ['note', { text: 'x' }]);
    });
    s.model.next('research', async (req, reply) => {
      reply.text('x');
      await reply.hold('second');
    });
    const r = await s.research('the sea');
    await s.model.held('second');
    await s.say(r.id, 'and salt');
    await s.say(r.id, 'and ice');
    await s.whole(r.id);
    for (const { body } of s.model.requests) {
      for (const [i, m] of body.messages.entries()) {
        const before = body.messages[i - 1]?.role;
        assert.ok(m.role !== 'user' || !['tool', 'user'].includes(before),
          `${before} before user in ${JSON.stringify(body.messages.map((x) => x.role))}`);
        for (const call of [m.tool_call_id, ...(m.tool_calls ?? []).map((c) => c.id)]) {
          assert.ok(call === undefined || /^[A-Za-z0-9]{9}$/.test(call), call);
        }
      }
    }
    assertCallsAnswered(s.model);
  });

// --- H: SQLite and admission

test('CASES H-3 (lossless-claw#413): twenty writers, each a hundred short transactions: none fails', BOUND,
  async (t) => {
    const s = await started(t, {}, { runtime: false });
    const waits = [];
    await Promise.all(Array.from({ length: 20 }, async (_, w) => {
      for (let i = 0; i < 100; i++) {
        const at = performance.now();
        const reply = await s.aside.api('POST', '/conversations', { title: `${w}.${i}` });
        waits.push(performance.now() - at);
        assert.equal(reply.status, 201, reply.text);
      }
    }));
    waits.sort((a, b) => a - b);
    t.diagnostic(`p50 ${waits[1000].toFixed(1)} ms, p99 ${waits[1980].toFixed(1)} ms`);
    assert.equal(await s.sql('SELECT count(*) FROM conversation'), '2001');
    assert.ok(waits[1980] < 2000, 'hardly anybody waits as long as the bound');
  });

test('CASES H-7 I-1 (Primer#87): what was answered is read at once, in order, through either responder', BOUND,
  async (t) => {
    const s = await started(t, { 'short.limit': 1000 }, { runtime: false });
    for (let i = 0; i < 50; i++) {
      const sent = await s.send(`message ${i}`);
      const reads = await Promise.all([0, 1, 2, 3].map(() => s.aside.api('GET', `/runs/${sent.run.id}`)));
      for (const read of reads) {
        assert.equal(read.status, 200);
        assert.ok(read.json.as_of >= sent.as_of);
      }
    }
    const read = (await s.aside.api('GET', `/conversations/${s.conv}?limit=100`)).json;
    assert.deepEqual(read.messages.map((m) => m.body), Array.from({ length: 50 }, (_, i) => `message ${i}`));
  });

test('CASES H-8 (ogx#4048): many Runs write their text at once; no word is lost or out of order', BOUND,
  async (t) => {
    const s = await started(t, { 'short.limit': 20, 'model.max_concurrent': 20 });
    const words = Array.from({ length: 60 }, (_, i) => `w${i} `);
    s.model.on('entry', async (req, reply) => {
      for (const word of words) {
        reply.text(word);
        await new Promise((resolve) => setTimeout(resolve, 5));
      }
      reply.finish().usage().done();
    });
    const sent = await Promise.all(Array.from({ length: 16 }, (_, i) => s.send(`question ${i}`)));
    for (const { run: r } of sent) {
      const end = await s.whole(r.id);
      assert.deepEqual([end.run.state, end.run.answer.body], ['completed', words.join('')]);
      assert.equal(s.aside.state.answer(r.id), words.join(''), 'the feed tells the same');
    }
    await assertSettled(s.sql);
  });
