// attack-replies.test.mjs - replies that no model should send, and that some do.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { lookForLeaks } from '../support/harness.mjs';
import { assertCallsAnswered, assertSettled, history, shelf, started } from '../support/started.mjs';
import { BOUND } from '../support/patience.mjs';

lookForLeaks();

test('CASES G-9: broken arguments are refused each by itself; siblings run', BOUND, async (t) => {
  const { model, research, whole, sql } = await started(t, {}, { library: await shelf(t) });
  const broken = ['', '[]', '["query"]', '"query"', '7', 'null', 'true', '{"query":', '{"query":"a"} x',
    '{"query":["tides"]}', '{"query":"a","query":"b"}'];
  const calls = [];
  for (const name of ['library_search', 'library_read', 'note']) {
    calls.push(...broken.map((args) => [name, args]));
  }
  model.next('research', (req, reply) => reply.call(...calls, ['library_search', { query: 'tides' }]));
  const r = await research('tides');
  const end = await whole(r.id);
  assert.equal(end.run.state, 'completed');
  for (const call of end.tool_calls.slice(0, calls.length)) {
    assert.equal(call.state, 'failed', `${call.name} ${call.arguments}`);
  }
  assert.equal(end.tool_calls[calls.length].state, 'done');
  assertCallsAnswered(model);
  await assertSettled(sql);
});

test('however much a model sends, the Run can be read, and its changes followed', BOUND, async (t) => {
  const { model, aside, research, whole, sql } = await started(t);
  const calls = Array.from({ length: 64 }, (_, i) => [`made_up_${i}`, { query: 'tides', i }]);
  for (let i = 0; i < 3; i++) {
    model.next('research', (req, reply) => reply.call(...calls));
  }
  const r = await research('the sea');
  const small = await whole(r.id);
  assert.equal(small.tool_calls.length, 3 * 64 + 1);
  assert.deepEqual([small.tool_calls[0].arguments, small.tool_calls[0].arguments_cut], ['{"query":"tides","i":0}', false]);
  // A megabyte of result each: it is in no change.
  const id = r.id.slice(4);
  await sql(`UPDATE tool_call SET result = hex(zeroblob(500000)) WHERE run_id = ${id} AND id % 3 = 0`);
  const seen = new Set();
  for (let after = 0, more = true; more;) {
    const { status, json, text } = await aside.api('GET', `/changes?after=${after}&wait=0`);
    assert.equal(status, 200, text);
    json.changes.forEach((c) => seen.add(c.tool_call?.id));
    more = json.changes.length > 0;
    after = json.next;
  }
  assert.ok(small.tool_calls.every((c) => seen.has(c.id)));
  // 256 KiB of arguments each, and the sources of a long chain: each is cut.
  await sql(`UPDATE tool_call SET arguments = '{"query":"' || replace(hex(zeroblob(65400)), '00', '水\\"') || '"}' WHERE run_id = ${id};
    WITH RECURSIVE n (i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 20000)
    INSERT INTO source (run_id, tool_call_id, n, passage, title, location, heading, body)
    SELECT ${id}, (SELECT min(id) FROM tool_call WHERE run_id = ${id}), i + 3000, i, 'Sea', 'mcp:a/b', '', replace(hex(zeroblob(600)), '00', '水水')
      FROM n`);
  const read = await aside.api('GET', `/runs/${r.id}`);
  assert.deepEqual([read.status, read.json.tool_calls.length, read.json.sources.length], [200, 193, 20000]);
  assert.ok(read.text.length < 20e6, `${read.text.length}`);
  const exact = await aside.api('GET', `/calls/${read.json.tool_calls[0].id}/arguments`);
  assert.deepEqual([exact.status, exact.headers['content-type'], exact.text],
    [200, 'text/plain; charset=utf-8', `{"query":"${'水\\"'.repeat(65400)}"}`]);
  for (const call of read.json.tool_calls) {
    assert.ok(call.arguments_cut && call.arguments.length > 4000 && exact.text.startsWith(call.arguments), call.id);
  }
});

test('CASES G-9: an operation with arguments that are no object is refused', BOUND, async (t) => {
  for (const args of ['', '[]', '"x"', '3', '{"title":']) {
    await t.test(args || 'empty', async (tt) => {
      const { model, send, whole, sql } = await started(tt);
      model.next('entry', (req, reply) => reply.call(['start_research', args]));
      model.next('answer', (req, reply) => {
        assert.match(req.body.messages.at(-1).content, /not a JSON object/);
        reply.answer('I could not.');
      });
      const end = await whole((await send('look into it')).run.id);
      assert.equal(end.run.kind, 'short');
      assert.equal(end.run.answer.body, 'I could not.');
      assertCallsAnswered(model);
      await assertSettled(sql);
    });
  }
});

test('a question beside a report: the Run waits, the report is refused', BOUND, async (t) => {
  const { model, aside, research, say, whole, sql } = await started(t);
  model.next('research', (req, reply) => reply.call(
    ['ask_user', { question: 'Which sea?' }],
    ['deliver_report', { report: '# Early', coverage: [] }]));
  const r = await research('the sea');
  await aside.until((s) => s.runs.get(r.id)?.state === 'awaiting_input');
  await say(r.id, 'the North Sea', 'reply');
  const end = await whole(r.id);
  assert.equal(end.run.state, 'completed');
  assert.equal(end.run.answer.body, 'A scripted report.');
  assertCallsAnswered(model);
  await assertSettled(sql);
});

test('64 calls in one reply, and the same id for all', BOUND, async (t) => {
  const { model, research, whole, sql } = await started(t, {}, { library: await shelf(t) });
  model.next('research', (req, reply) => {
    for (let i = 0; i < 64; i++) {
      reply.delta({ tool_calls: [{ index: i, id: 'call_same', type: 'function',
        function: { name: 'library_search', arguments: JSON.stringify({ query: `tides ${i}` }) } }] });
    }
    reply.finish('tool_calls').usage().done();
  });
  const r = await research('tides');
  const end = await whole(r.id);
  // R26: 60 are executed, the others are told that the limit is reached
  assert.equal(end.tool_calls.filter((c) => c.state === 'done' && c.name === 'library_search').length, 60);
  assert.equal(end.run.state, 'incomplete');
  assert.equal(end.run.reason, 'budget_tools');
  assertCallsAnswered(model);
  await assertSettled(sql);
});

test('a reply beyond what is taken is kept as far as it came, and the model is told once', BOUND, async (t) => {
  const { model, research, whole, sql } = await started(t, { 'budget.normal.tool_calls': 100 });
  const notices = (req) => req.body.messages.filter((m) => m.role === 'user' && m.content.startsWith('[notice]'))
    .map((m) => m.content);
  const twice = async (first, check) => {
    model.next('research', first);
    model.next('research', (req, reply) => {
      check(req);
      reply.call(['note', { text: 'on' }]);
    });
    model.next('research', (req, reply) => {
      assert.deepEqual(notices(req), [...new Set(notices(req))]);
      reply.report('# All');
    });
    const end = await whole((await research('tides')).id);
    assert.deepEqual([end.run.state, end.requests[0].state], ['completed', 'done']);
    assert.equal(end.requests[0].usage.known, false);
    assert.ok(end.requests[0].usage.estimate > 0);
    return end;
  };
  const many = await twice((req, reply) => {
    for (let i = 0; i < 65; i++) {
      reply.toolCall('note', { text: `${i}` });
    }
    reply.finish('tool_calls').usage().done();
  }, (req) => {
    assert.match(history(req).at(-1).content, /too long: what stood behind its last call is lost/);
    assert.equal(history(req).filter((m) => m.role === 'tool').length, 64);
  });
  assert.equal(many.tool_calls.filter((c) => c.state === 'done').length, 64 + 1 + 1);

  const torn = await twice((req, reply) => {
    reply.toolCall('note', { text: 'whole' });
    reply.toolCall('publish_draft', { report: 'sea '.repeat(70000) });
    reply.finish('tool_calls').usage().done();
  }, (req) => {
    assert.match(history(req).at(-1).content, /the arguments break off: the reply was too long/);
    assert.deepEqual(notices(req), []);
    // what was too much is not sent back whole
    const given = history(req).find((m) => m.tool_calls).tool_calls[1].function.arguments;
    assert.ok(given.length < 50000, `${given.length}`);
    assert.match(JSON.parse(given).shortened, /^{"report":"sea sea/);
  });
  assert.deepEqual(torn.tool_calls.slice(0, 2).map((c) => c.state), ['done', 'failed']);

  await twice((req, reply) => reply.text('words and more '.repeat(20000)).finish().usage().done(), (req) => {
    assert.match(history(req).at(-1).content, /Your text was kept as progress.* It breaks off: it was too long/);
    assert.match(history(req).at(-2).content, /^words and more[^]*\[cut here\]$/);
  });
  assertCallsAnswered(model);
  await assertSettled(sql);
});

test('R27 a research whose model only thinks until its length is told so, and closes with what there is', BOUND, async (t) => {
  const { model, research, whole } = await started(t);
  const think = (req, reply) => reply.delta({ reasoning_content: 'hm' }).finish('length').usage().done();
  model.next('research', (req, reply) => reply.call(['note', { text: 'the moon pulls' }]));
  model.next('research', think);
  model.next('research', (req, reply) => {
    assert.match(history(req).at(-1).content, /before it held a text or a call/);
    think(req, reply);
  });
  const end = await whole((await research('tides')).id);
  assert.deepEqual([end.run.state, end.run.reason], ['incomplete', 'length']);
  assert.match(end.run.answer.body, /the moon pulls/);
});

test('unknown tools and tools of another purpose are answered', BOUND, async (t) => {
  const { model, research, send, whole, sql } = await started(t);
  model.next('research', (req, reply) => reply.call(
    ['rm_rf', {}], ['', {}], ['start_research', { title: 'x' }], ['adjust_research', { run: 'run_1' }],
    ['deliver_report', '[]'], ['deliver_report', { report: '' }], ['deliver_report', 'torn {']));
  const end = await whole((await research('tides')).id);
  assert.equal(end.run.state, 'completed');
  assert.equal(end.tool_calls.filter((c) => c.state === 'failed').length, 7);
  model.next('entry', (req, reply) => reply.call(
    ['deliver_report', { report: 'x' }], ['note', { text: 'x' }], ['rm_rf', {}]));
  model.next('answer', (req, reply) => reply.call(['rm_rf', {}]));
  const short = await whole((await send('hello')).run.id);
  assert.equal(short.run.state, 'failed');
  assertCallsAnswered(model);
  await assertSettled(sql);
});

test('R31 broken coverage never completes and never breaks', BOUND, async (t) => {
  const { model, research, whole, sql } = await started(t);
  for (const coverage of [undefined, null, 'all', [], [1, null, 'x', [], {}], { id: 'x' },
    [{ id: 7, status: 'covered' }], [{ id: 'msg_99', status: 'covered' }],
    [{ id: 'request', status: 'COVERED', note: 3 }]]) {
    model.next('research', (req, reply) => reply.call(['deliver_report', { report: '# R', coverage }]));
    const end = await whole((await research('tides')).id);
    assert.equal(end.run.state, 'incomplete', JSON.stringify(coverage));
    assert.equal(end.run.reason, 'partial_coverage');
    assert.equal(end.run.coverage[0].status, 'not_covered');
  }
  await assertSettled(sql);
});

test('a whole JSON reply hands the adjustment too', BOUND, async (t) => {
  const { model, research, say, whole, sql } = await started(t);
  model.next('research', async (req, reply) => {
    reply.text('thinking');
    await reply.hold('first');
  });
  model.next('research', (req, reply) => {
    const ids = [...new Set(req.raw.toString().match(/msg_\d+/g))];
    reply.status(200, {}, { id: 'x', object: 'chat.completion', choices: [{ index: 0,
      finish_reason: 'tool_calls', message: { role: 'assistant', content: null, tool_calls: [{
        id: 'c1', type: 'function', function: { name: 'deliver_report', arguments: JSON.stringify({
          report: '# Whole', coverage: ids.map((id) => ({ id, status: 'covered' })) }) } }] } }],
    usage: { prompt_tokens: 5, completion_tokens: 5, total_tokens: 10 } });
  });
  const r = await research('the sea');
  await model.held('first');
  await say(r.id, 'and salt');
  const end = await whole(r.id);
  assert.equal(end.run.answer.body, '# Whole');
  assert.equal(end.run.state, 'completed');
  assert.equal(end.handoffs[0].state, 'handed');
  assert.equal(end.requests.length, 2);
  await assertSettled(sql);
});

test('a huge answer ends in a clear state, and holds up nobody', BOUND, async (t) => {
  const { model, send, research, whole, ended, sql } = await started(t);
  const chunk = 'words and more words '.repeat(24000); // 504 kB
  model.next('entry', async (req, reply) => {
    for (let i = 0; i < 14; i++) {
      reply.text(chunk);
    }
    reply.finish().usage().done();
  });
  const big = (await send('say much')).run;
  const small = await whole((await send('say little')).run.id);
  assert.equal(small.run.state, 'completed');
  await ended(big.id);
  // what came up to the bound is kept, and said to be cut
  assert.equal(await sql('SELECT state, reason, progress, length(CAST(body AS BLOB)) BETWEEN 250000 AND 262144' +
    ` FROM run JOIN answer ON run_id = run.id WHERE run.id = ${big.id.slice(4)}`),
  'incomplete|length|The answer was cut: it grew beyond what is kept.|1');
  model.next('research', (req, reply) => {
    for (let i = 0; i < 14; i++) {
      reply.text(chunk);
    }
    reply.finish().usage().done();
  });
  const r = await research('write much');
  await ended(r.id);
  assert.equal(await sql(`SELECT state FROM run WHERE id = ${r.id.slice(4)}`), 'completed');
  // a part fits into a page of the feed, whatever came at once
  assert.ok(Number(await sql('SELECT max(length(CAST(body AS BLOB))) FROM change')) <= 8192);
  await assertSettled(sql);
});

test('R27 a torn answer is incomplete, by whatever name the provider calls it', BOUND, async (t) => {
  const { model, send, whole } = await started(t);
  for (const finish of ['length', 'max_tokens', 'MAX_TOKENS']) {
    model.next('entry', (req, reply) => reply.text('half a').finish(finish).usage().done());
    const end = await whole((await send('question')).run.id);
    assert.equal(end.run.state, 'incomplete', finish);
    assert.equal(end.run.reason, 'length', finish);
  }
  model.next('entry', (req, reply) => reply.delta({ reasoning_content: 'hm' }).finish('length').usage().done());
  const end = await whole((await send('question')).run.id);
  assert.equal(end.run.reason, 'length');
});

test('plain text is asked once to be delivered, also when an adjustment came between', BOUND, async (t) => {
  const { model, research, say, whole } = await started(t);
  model.next('research', async (req, reply) => {
    reply.text('Some prose.');
    await reply.hold('prose');
    reply.finish().usage().done();
  });
  const r = await research('the sea');
  const held = await model.held('prose');
  // the finish has been sent when the adjustment comes: it interrupts nothing
  held.reply.finish().usage();
  model.next('research', (req, reply) => {
    const said = req.body.messages.map((m) => m.content).join('\n');
    assert.match(said, /and salt/);
    assert.match(said, /Hand in the report now/);
    assert.match(history(req).at(-1).content, /^\[adjustment/);
    reply.answer('More prose.');
  });
  await held.reply.arrived();
  await say(r.id, 'and salt');
  await new Promise((resolve) => setTimeout(resolve, 200)); // time to do wrong
  held.reply.raw('data: [DONE]\n\n');
  held.release();
  const end = await whole(r.id);
  assert.equal(end.run.answer.body, 'More prose.');
  assert.deepEqual(end.requests.map((q) => q.state), ['done', 'done']);
  assert.equal(end.run.reason, 'partial_coverage');
});
