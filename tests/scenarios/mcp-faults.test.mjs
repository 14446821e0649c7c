// mcp-faults.test.mjs - servers of the Model Context Protocol that break, lie,
// hang, forget and die, and a runtime that dies in mid-call.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { eventually, freePort, lookForLeaks } from '../support/harness.mjs';
import { ScriptedMcp } from '../support/scripted-mcp.mjs';
import { assertCallsAnswered, assertSettled, started } from '../support/started.mjs';
import { Keeper } from '../support/walk.mjs';
import { BOUND } from '../support/patience.mjs';

lookForLeaks();

const SAFE = { readOnlyHint: true };

const ready = (program, name, n = 1) => program.logged(
  new RegExp(`(mcp\\.${name} ready: [^]*){${n}}`));
const offered = (body) => body.tools.map((tool) => tool.function.name);
const results = (req) => req.body.messages.filter((m) => m.role === 'tool')
  .map((m) => JSON.parse(m.content));
const json = (call, text, type = 'application/json') =>
  call.res.writeHead(200, { 'content-type': type }).end(text);

// Each fault: what it does to a call, and what becomes of a safe and an unsafe one.
const FAULTS = {
  'cut before the reply': [(call) => call.cut(), 'failed', 2, 'unknown'],
  'cut in mid-stream': [(call) => {
    call.progress({ progress: 1 });
    call.raw('data: {"jsonrpc":"2.0","id":');
    setTimeout(() => call.cut(), 20);
  }, 'failed', 2, 'unknown'],
  'cut once': [(call, n) => n === 1 ? call.cut() : call.text('late'), 'done', 2, 'unknown'],
  'a stream that ends without a result': [(call) => call.stream().res.end(), 'failed', 2, 'unknown'],
  'a stream that ends in its result': [(call) => {
    call.raw(`data: ${JSON.stringify({ jsonrpc: '2.0', id: call.id, result: { content: [] } })}`);
    call.res.end();
  }, 'failed', 2, 'unknown'],
  'broken JSON': [(call) => json(call, '{"jsonrpc":'), 'failed', 2, 'unknown'],
  'another id': [(call) => json(call, '{"jsonrpc":"2.0","id":1,"result":{"content":[]}}'),
    'failed', 2, 'unknown'],
  'a page': [(call) => json(call, '<h1>Hello</h1>', 'text/html'), 'failed', 2, 'unknown'],
  'accepted and no more': [(call) => call.res.writeHead(202).end(), 'failed', 2, 'unknown'],
  'a NUL': [(call) => json(call, `{"jsonrpc":"2.0","id":${call.id},"result":{"content":[{` +
    '"type":"text","text":"a\\u0000b"}]}}'), 'failed', 2, 'unknown'],
  'status 500': [(call) => call.res.writeHead(500).end('oops'), 'failed', 2, 'unknown'],
  'too much JSON': [(call) => call.text('x'.repeat(5 << 20)), 'failed', 1, 'unknown'],
  'an event without end': [(call) => call.raw(`data: ${'x'.repeat(5 << 20)}`), 'failed', 1, 'unknown'],
  'status 401': [(call) => call.res.writeHead(401).end(), 'failed', 1, 'failed'],
  'status 503': [(call) => call.res.writeHead(503).end(), 'failed', 1, 'failed'],
  'status 400 of its own': [(call) => call.res.writeHead(400).end(), 'failed', 2, 'failed'],
  'a redirect': [(call) => call.res.writeHead(307, { location: 'http://127.0.0.1:1/' }).end(),
    'failed', 1, 'failed'],
  'an error': [(call) => call.mcp.reply(call.res, call.msg, undefined, {},
    { code: -32602, message: 'no such thing' }), 'failed', 1, 'failed'],
  'a result that is none': [(call) => call.result({}), 'failed', 1, 'failed'],
  'a result that failed': [(call) => call.result({ isError: true, content: [{ type: 'text', text: 'no' }] }),
    'failed', 1, 'failed'],
  'much text': [(call) => call.text(Array.from({ length: 60000 }, (_, i) => `word${i} `).join('')),
    'done', 1, 'done'],
  'much that must be escaped': [(call) => call.result({
    content: [{
      type: 'resource',
      resource: { uri: `x:${'"\u0001'.repeat(50000)}`, text: '\u0001"\\\n'.repeat(60000) },
    }],
  }), 'done', 1, 'done'],
  'too many values': [(call) => call.result({ content: [], structuredContent: { a: Array(200000).fill(0) } }),
    'failed', 2, 'unknown'],
  'nothing at all': [(call) => call.result({ content: [] }), 'done', 1, 'done'],
};

test('replies that break: what is safe is made once more, of the rest nobody knows', BOUND, async (t) => {
  const mcp = await ScriptedMcp.start({ t });
  const tries = new Map();
  const handler = (call) => {
    const key = `${call.msg.params.name} ${call.args.how}`;
    tries.set(key, (tries.get(key) ?? 0) + 1);
    FAULTS[call.args.how][0](call, tries.get(key));
  };
  mcp.tool('safe', SAFE, handler).tool('unsafe', {}, handler);
  for (let i = 0; i < 120; i++) { // more than a prompt has room for
    mcp.tool(`big${i}`, SAFE, handler, {
      description: '"\\\n'.repeat(330), inputSchema: { type: 'object', description: 'x'.repeat(4000) },
    });
  }
  const { model, aside, research, whole, sql } = await started(t, {
    'mcp.a.url': mcp.url, 'policy.a': 'allow', 'model.context_tokens': 1000000,
  });
  await ready(aside.part('asided'), 'a');
  const hows = Object.keys(FAULTS);
  model.next('research', (req, reply) => reply.call(
    ...hows.map((how) => ['a__safe', { how }]), ...hows.map((how) => ['a__unsafe', { how }])));
  const end = await whole((await research('try it all')).id);
  assert.equal(end.run.state, 'completed', JSON.stringify(end.run));
  const tools = model.requests[0].body.tools;
  assert.ok(tools.length > 10 && tools.length < 100, `${tools.length} tools`);
  assert.ok(JSON.stringify(tools).length > 20000);
  const got = {};
  const told = results(model.requests.at(-1));
  hows.forEach((how, i) => {
    const [safe, unsafe] = [end.tool_calls[i], end.tool_calls[hows.length + i]];
    got[how] = [safe.state, tries.get(`safe ${how}`), unsafe.state];
    // An unsafe call is repeated only where it was certainly not carried out.
    assert.equal(tries.get(`unsafe ${how}`), how === 'status 400 of its own' ? 2 : 1, how);
    if (unsafe.state === 'unknown') {
      assert.match(told[hows.length + i].error, /outcome is unknown/, how);
    }
    if (safe.state === 'failed') {
      assert.ok(told[i].error.length > 1 && !/unknown/.test(told[i].error), how);
    }
  });
  assert.deepEqual(got, Object.fromEntries(hows.map((how) => [how, FAULTS[how].slice(1)])));
  const much = told[hows.indexOf('much text')];
  assert.equal(end.sources.filter((s) => s.location === 'mcp:a/safe' && /word\d/.test(s.text)).length, 100);
  assert.match(much.note, /^Not passed on: \d+ bytes of text, which are too many$/);
  assertCallsAnswered(model);
  await assertSettled(sql);
});

test('the rest of a stream that broke is asked for, where a call must not be made twice', BOUND, async (t) => {
  const mcp = await ScriptedMcp.start({ t });
  let calls = 0;
  mcp.tool('write', {}, (call) => {
    calls += 1;
    call.event({ method: 'notifications/message', params: {} }, `${call.id}-1`);
    call.raw('id: torn\ndata: {"jsonrpc":');
    setTimeout(() => call.cut(), 20);
  });
  const asked = [];
  const event = (res, id, message) => res.write(
    `id: ${id}\ndata: ${JSON.stringify({ jsonrpc: '2.0', ...message })}\n\n`);
  mcp.resume = (id, res) => {
    const call = mcp.calls.at(-1);
    asked.push(id.replace(`${call.id}-`, ''));
    if (call.args.never) {
      res.socket.destroy();
      return;
    }
    res.writeHead(200, { 'content-type': 'text/event-stream' });
    if (id.endsWith('-1')) {
      event(res, `${call.id}-2`, { method: 'notifications/message', params: {} });
      setTimeout(() => res.socket.destroy(), 20);
    } else {
      event(res, `${call.id}-3`, { id: call.id, result: { content: [{ type: 'text', text: 'once' }] } });
      res.end();
    }
  };
  const { model, aside, research, whole, sql } = await started(t, { 'mcp.a.url': mcp.url, 'policy.a': 'allow' });
  await ready(aside.part('asided'), 'a');
  model.next('research', (req, reply) => reply.call(['a__write', {}], ['a__write', { never: true }]));
  const end = await whole((await research('write it')).id);
  assert.deepEqual(end.tool_calls.slice(0, 2).map((c) => c.state), ['done', 'unknown']);
  assert.equal(end.sources[0].text, 'once');
  assert.deepEqual(asked, ['1', '2', '1', '1', '1', '1', '1']);
  assert.equal(calls, 2);
  await assertSettled(sql);
});

test('a session that is forgotten is begun anew, and the call is made once', BOUND, async (t) => {
  const mcp = await ScriptedMcp.start({ t });
  let done = 0;
  mcp.tool('look', SAFE, (call) => call.text(`look ${++done}`));
  mcp.tool('write', {}, (call) => call.text(`write ${++done}`));
  const { model, aside, research, whole } = await started(t, { 'mcp.a.url': mcp.url, 'policy.a': 'allow' });
  await ready(aside.part('asided'), 'a');
  for (const name of ['a__look', 'a__write']) {
    mcp.sessions.clear();
    model.next('research', (req, reply) => reply.call([name, {}]));
    const end = await whole((await research('go')).id);
    assert.equal(end.tool_calls[0].state, 'done', JSON.stringify(end.tool_calls));
  }
  assert.equal(done, 2);
  assert.equal(mcp.of('initialize').length, 3);
  assert.equal(new Set(mcp.of('tools/call').map((r) => r.session)).size, 3);
  // A server that forgets every session is not asked for ever.
  mcp.intercept = (msg, req, res) => msg.method === 'tools/call' && (res.writeHead(404).end(), true);
  model.next('research', (req, reply) => reply.call(['a__look', {}]));
  const end = await whole((await research('go')).id);
  assert.equal(end.tool_calls[0].state, 'failed');
  assert.match(end.tool_calls[0].error, /status 404/);
  assert.equal(mcp.of('tools/call').length, 6);
});

test('a server that never answers holds up neither the others nor its own Run', BOUND, async (t) => {
  const mcp = await ScriptedMcp.start({ t });
  const mute = await ScriptedMcp.start({ t }); // says nothing from the first word on
  const closed = await freePort();
  const never = (call) => call.stream().progress({ progress: 1, total: 9 });
  mcp.tool('safe', SAFE, never).tool('unsafe', {}, never);
  mute.intercept = () => true;
  const { model, aside, research, send, whole, sql } = await started(t, {
    'mcp.slow.url': mcp.url, 'policy.slow': 'allow', 'mcp.slow.timeout_ms': 1500, 'mcp.mute.url': mute.url,
    'mcp.gone.url': `http://127.0.0.1:${closed}/mcp`,
  });
  await ready(aside.part('asided'), 'slow');
  await aside.part('asided').logged(/mcp\.gone not reached: /);
  model.next('research', (req, reply) => {
    assert.deepEqual(offered(req.body).filter((n) => n.includes('__')), ['slow__safe', 'slow__unsafe']);
    reply.call(['slow__safe', {}], ['slow__unsafe', {}], ['gone__thing', {}], ['slow__more', {}]);
  });
  const r = await research('wait for it');
  await mcp.called(1);
  const short = await whole((await send('meanwhile')).run.id);
  assert.equal(short.run.state, 'completed');
  const end = await whole(r.id);
  assert.deepEqual(end.tool_calls.slice(0, 4).map((c) => c.state),
    ['failed', 'unknown', 'failed', 'failed']);
  assert.match(end.tool_calls[0].error, /no result in the time allowed/);
  assert.equal(end.tool_calls[2].error, 'no such tool');
  assert.equal(end.tool_calls[3].error, 'no such tool');
  const cancelled = await Promise.all([1, 2].map((n) => mcp.got('notifications/cancelled', n)));
  assert.deepEqual(cancelled.map((c) => c.msg.params.requestId), mcp.calls.map((c) => c.id));
  await mcp.wait(() => mcp.calls.every((c) => c.closed), 'the connections are closed');
  await assertSettled(sql);
});

test('a server that dies and comes back: calls, tools, and what the model is offered', BOUND, async (t) => {
  const mcp = await ScriptedMcp.start({ t });
  let back = false;
  const handler = (call) => back && call.text('here again');
  mcp.tool('safe', SAFE, handler).tool('unsafe', {}, handler);
  const { model, aside, research, whole, sql } = await started(t, { 'mcp.a.url': mcp.url, 'policy.a': 'allow' });
  const asided = aside.part('asided');
  await ready(asided, 'a');
  const { port } = mcp;
  for (const [n, name, state] of [[1, 'a__safe', 'done'], [2, 'a__unsafe', 'unknown']]) {
    back = false;
    mcp.calls.length = 0;
    model.next('research', (req, reply) => reply.call([name, {}]));
    const r = await research('go');
    await mcp.called(1);
    await mcp.close();
    back = true;
    await mcp.listen(port);
    const end = await whole(r.id);
    assert.equal(end.tool_calls[0].state, state, JSON.stringify(end.tool_calls[0]));
    await ready(asided, 'a', n + 1);
    assert.equal(mcp.calls.length, state === 'done' ? 2 : 1);
  }
  // At rest: it is missed, and not offered; then it is found again.
  await mcp.wait(() => mcp.streams.size === 1, 'the stream of news');
  const missed = () => (asided.log.match(/mcp\.a not reached/g) ?? []).length;
  const before = missed();
  await mcp.close();
  await asided.logged(new RegExp(`(mcp\\.a not reached[^]*){${before + 1}}`));
  const start = model.requests.length;
  await whole((await research('without it')).id);
  assert.ok(!offered(model.requests[start].body).includes('a__safe'));
  await mcp.listen(port);
  await ready(asided, 'a', 4);
  await whole((await research('with it')).id);
  assert.ok(offered(model.requests.at(-1).body).includes('a__safe'));
  await assertSettled(sql);
});

test('R24 R21 a stop tells the server; an adjustment cuts what is safe, the rest runs on', BOUND, async (t) => {
  const mcp = await ScriptedMcp.start({ t });
  mcp.tool('safe', SAFE, (call) => call.stream()).tool('unsafe', {}, (call) => call.stream());
  const { model, aside, research, stop, say, run, whole, sql } =
    await started(t, { 'mcp.a.url': mcp.url, 'policy.a': 'allow' });
  await ready(aside.part('asided'), 'a');
  model.next('research', (req, reply) => reply.call(['a__unsafe', {}]));
  const first = await research('go');
  const call = await mcp.called(1);
  await stop(first.id);
  const told = await mcp.got('notifications/cancelled');
  assert.equal(told.msg.params.requestId, call.id);
  assert.equal(told.msg.id, undefined);
  await mcp.wait(() => call.closed, 'the connection is closed');
  await assertSettled(sql);
  assert.equal((await run(first.id)).tool_calls[0].state, 'interrupted');

  for (const [n, name, state] of [[2, 'a__safe', 'interrupted'], [3, 'a__unsafe', 'done']]) {
    model.next('research', (req, reply) => reply.call([name, {}]));
    const r = await research('go');
    const under = await mcp.called(n);
    await say(r.id, 'and this');
    if (state === 'done') {
      // Longer than the grace that a safe call has.
      await new Promise((resolve) => setTimeout(resolve, 3000));
      assert.ok(!under.closed);
      under.text('finished');
    } else {
      assert.equal((await mcp.got('notifications/cancelled', n)).msg.params.requestId, under.id);
    }
    const end = await whole(r.id);
    assert.equal(end.tool_calls[0].state, state);
    assert.equal(end.run.state, 'completed');
  }
  assert.equal(mcp.of('notifications/cancelled').length, 2);
  assertCallsAnswered(model);
  await assertSettled(sql);
});

test('R29 killed in mid-call: what is safe is made again, though the server is late; the rest is not', BOUND, async (t) => {
  const mcp = await ScriptedMcp.start({ t });
  const { port } = mcp;
  let answers = false;
  const handler = (call) => answers && call.text('done at last');
  mcp.tool('safe', SAFE, handler).tool('unsafe', {}, handler).tool('set', { idempotentHint: true }, handler);
  const w = await started(t, { 'mcp.a.url': mcp.url, 'policy.a': 'allow' }, { runtime: false });
  const { model, aside, research, whole, sql } = w;
  const keeper = new Keeper(aside);
  await keeper.begin([]);
  await ready(keeper.current, 'a');
  for (const [name, state, times] of
    [['a__safe', 'done', 2], ['a__set', 'done', 2], ['a__unsafe', 'unknown', 1]]) {
    answers = false;
    mcp.calls.length = 0;
    model.next('research', (req, reply) => reply.call([name, {}]));
    const r = await research('go');
    await mcp.called(1);
    answers = true;
    if (name === 'a__safe') {
      await mcp.close(); // the next runtime does not find it at first
    }
    const old = keeper.current;
    await old.kill();
    await eventually(() => keeper.current !== old);
    if (name === 'a__safe') {
      await keeper.current.logged(/mcp\.a not reached/);
      await mcp.listen(port);
    }
    const end = await whole(r.id);
    assert.equal(end.tool_calls[0].state, state, JSON.stringify(end.tool_calls[0]));
    assert.equal(mcp.calls.length, times, name);
    const told = results(model.requests.at(-1))[0];
    if (state === 'unknown') {
      assert.match(told.error, /outcome is unknown/);
    } else {
      assert.equal(told.passages[0].text, 'done at last');
    }
    await ready(keeper.current, 'a');
  }
  assertCallsAnswered(model);
  await assertSettled(sql);
});

test('a server that floods is answered within bounds, and the chat goes on', BOUND, async (t) => {
  const mcp = await ScriptedMcp.start({ t });
  const line = (message) => `data: ${JSON.stringify({ jsonrpc: '2.0', ...message })}\n\n`;
  let text = '';
  for (let i = 1; i <= 5000; i++) {
    text += line({ id: i, method: 'ping' }) + line({ id: i, method: 'roots/list' }) +
      line({ method: 'notifications/tools/list_changed' });
  }
  mcp.tool('flood', SAFE, (call) => {
    call.raw(text);
    for (let i = 1; i <= 2000; i++) {
      call.progress({ progress: i, message: `at ${i}` });
    }
    call.text('over');
  });
  const { model, aside, research, send, whole } = await started(t, { 'mcp.a.url': mcp.url, 'policy.a': 'allow' });
  await ready(aside.part('asided'), 'a');
  model.next('research', (req, reply) => reply.call(['a__flood', {}]));
  const r = await research('flood');
  const short = await whole((await send('meanwhile')).run.id);
  assert.equal(short.run.state, 'completed');
  const end = await whole(r.id);
  assert.equal(end.tool_calls[0].state, 'done');
  assert.ok(aside.state.changes.filter((c) => /^at \d/.test(c.tool_call?.summary)).length <= 5);
  await mcp.wait(() => mcp.of('tools/list').length > 1, 'the list is asked for anew');
  assert.ok(mcp.of('tools/list').length <= 4, `${mcp.of('tools/list').length} lists`);
  assert.ok(mcp.requests.filter((q) => q.msg && !q.msg.method).length < 10000);
});
