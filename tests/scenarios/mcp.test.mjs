// mcp.test.mjs - tools of servers of the Model Context Protocol: the reference
// server, started here, and one whose every word the test writes.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { Everything, ready } from '../support/everything.mjs';
import { eventually } from '../support/harness.mjs';
import { ScriptedMcp } from '../support/scripted-mcp.mjs';
import { assertCallsAnswered, assertSettled, started } from '../support/started.mjs';
import { BOUND } from '../support/patience.mjs';

const offered = (body) => body.tools.map((tool) => tool.function.name);
const results = (req) => req.body.messages.filter((m) => m.role === 'tool')
  .map((m) => JSON.parse(m.content));

test('the reference server: its tools are called, and what they say is cited', BOUND, async (t) => {
  const server = await Everything.start(t);
  const w = await started(t, { 'mcp.every.url': server.url, 'policy.every': 'allow', 'background.limit': 2 });
  const { model, aside, research, whole, send, sql } = w;
  await ready(aside, 'every');
  model.next('research', (req, reply) => reply.call(
    ['every__echo', { message: 'hello sea' }],
    ['every__get-sum', { a: 2, b: 40 }],
    ['every__get-structured-content', { location: 'Chicago' }],
    ['every__get-resource-links', { count: 2 }],
    ['every__get-tiny-image', {}],
    ['every__get-annotated-message', { messageType: 'success', includeImage: true }],
    ['every__get-sum', { a: 'two', b: {} }],
    ['every__trigger-long-running-operation', { duration: 3, steps: 6 }]));
  model.next('research', (req, reply) => {
    const told = results(req);
    const n = (i) => told[i].passages[0].n;
    reply.report(`# Done\n\nThe sum [${n(1)}], the weather [${n(2)}].`);
  });
  const end = await whole((await research('add them')).id);
  assert.equal(end.run.state, 'completed');
  const first = model.requests.find((r) => r.purpose === 'research');
  const names = offered(first.body);
  for (const name of names) {
    assert.match(name, /^[a-zA-Z0-9_-]{1,64}$/);
  }
  assert.ok(names.includes('every__echo') && names.includes('every__get-sum'));
  // It can only be had as a task, which is not spoken here.
  assert.ok(!names.includes('every__simulate-research-query'));
  const sum = first.body.tools.find((tool) => tool.function.name === 'every__get-sum').function;
  assert.equal(sum.description, '[data]\n| Returns the sum of two numbers\n[end of data]');
  assert.deepEqual(Object.keys(sum.parameters.properties), ['a', 'b']);
  assert.equal(sum.parameters.$schema, undefined);

  assert.deepEqual(end.tool_calls.map((c) => c.state),
    ['done', 'done', 'done', 'done', 'done', 'done', 'failed', 'done', 'done']);
  const told = results(model.requests.at(-1));
  assert.match(told[0].passages[0].text, /hello sea/);
  assert.equal(told[1].passages[0].text, 'The sum of 2 and 40 is 42.');
  assert.equal(told[1].passages[0].location, 'mcp:every/get-sum');
  assert.equal(told[1].passages[0].title, 'every: Get Sum Tool');
  assert.deepEqual(told[2].passages.map((p) => [p.heading, JSON.parse(p.text).conditions]),
    [['structured content', 'Light rain / drizzle']]);
  assert.match(told[3].passages[1].text, /<demo:\/\/resource/);
  assert.equal(told[4].note, 'Not passed on: an image (image/png)');
  assert.match(told[6].error, /[Ii]nvalid/);
  assert.match(told[7].passages[0].text, /completed/);
  // The sources open, and hold what was said.
  const source = end.sources.find((s) => s.n === told[1].passages[0].n);
  assert.equal(source.text, 'The sum of 2 and 40 is 42.');
  // How the long one went was to be seen.
  const said = new Set(aside.state.changes.map((c) => c.tool_call?.summary));
  assert.ok([...said].some((s) => /^\d of 6$/.test(s)), JSON.stringify([...said]));
  assertCallsAnswered(model);

  // A short answer is not offered them, and is refused if it calls one.
  model.next('entry', (req, reply) => reply.call(['every__echo', { message: 'x' }]));
  const short = await whole((await send('hello')).run.id);
  assert.deepEqual(short.tool_calls.map((c) => [c.state, c.error]), [['failed', 'not offered here']]);
  assert.ok(!offered(model.requests.find((r) => r.purpose === 'entry').body)
    .some((name) => name.startsWith('every__')));

  // The server starts anew and knows no session: a new one is begun.
  await server.program.kill();
  await server.begin();
  model.next('research', (req, reply) => reply.call(['every__echo', { message: 'again' }]));
  const again = await whole((await research('once more')).id);
  assert.equal(again.tool_calls[0].state, 'done', JSON.stringify(again.tool_calls));
  await assertSettled(sql);

  // It is told when Aside ends.
  await aside.part('asided').stop();
  await server.program.logged(/Received session termination request/);
});

test('what is sent: headers, version, token, answers to the server, one call at a time', BOUND, async (t) => {
  const mcp = await ScriptedMcp.start({ t });
  mcp.version = '2025-03-26';
  let open = 0;
  let most = 0;
  mcp.tool('read.it', { readOnlyHint: true }, async (call) => {
    call.event({ id: 's1', method: 'ping' });
    call.event({ id: 7, method: 'sampling/createMessage', params: {} });
    call.event('[{"jsonrpc":"2.0","method":"notifications/message","params":{}}]');
    call.raw(': still here\n\nevent: other\ndata: nothing\n\ndata:\n\n');
    call.progress({ progress: 1, message: 'half\nway' });
    await aside.until((s) => s.changes.some((c) => c.tool_call?.summary === 'half way'), { what: 'its progress' });
    call.text('all of it');
  });
  mcp.tool('write', { idempotentHint: true }, (call) => {
    open += 1;
    most = Math.max(most, open);
    setTimeout(() => {
      open -= 1;
      call.text(`written ${call.args.v}`);
    }, 50);
  });
  const { model, aside, research, whole, sql } = await started(t, {
    'mcp.a.url': mcp.url, 'policy.a': 'allow', 'mcp.a.token': 'secret-1', 'mcp.a.header': 'X-Own: yes',
  });
  await ready(aside, 'a');
  const read = offered; // names are made fit for model endpoints
  model.next('research', (req, reply) => {
    const name = read(req.body).find((n) => n.startsWith('a__read'));
    assert.match(name, /^a__read_it_[0-9a-f]{8}$/);
    reply.call([name, {}], [name, {}], ['a__write', { v: 1 }], ['a__write', { v: 2 }],
      ['a__write', { v: 1 }]);
  });
  const end = await whole((await research('read and write')).id);
  assert.deepEqual(end.tool_calls.slice(0, 5).map((c) => [c.state, c.repeats !== null]),
    [['done', false], ['done', true], ['done', false], ['done', false], ['done', false]]);
  assert.equal(most, 1, 'what writes is made alone');
  assert.deepEqual(mcp.calls.map((c) => c.args.v), [undefined, 1, 2, 1]);
  assert.equal(mcp.calls[0].msg.params.name, 'read.it');

  const hello = mcp.of('initialize')[0];
  assert.equal(hello.msg.params.protocolVersion, '2025-06-18');
  assert.equal(hello.headers['mcp-protocol-version'], undefined);
  assert.equal(hello.session, undefined);
  const session = mcp.of('tools/list')[0].session;
  assert.equal(mcp.of('initialize').length, 1);
  for (const r of mcp.requests) {
    assert.equal(r.headers.authorization, 'Bearer secret-1');
    assert.equal(r.headers['x-own'], 'yes');
    if (r.msg?.method !== 'initialize') {
      assert.equal(r.headers['mcp-protocol-version'], '2025-03-26');
      assert.equal(r.session, session);
    }
    if (r.method === 'POST') {
      assert.match(r.headers.accept, /application\/json/);
      assert.match(r.headers.accept, /text\/event-stream/);
    }
  }
  const answers = mcp.requests.map((r) => r.msg).filter((m) => m && !m.method);
  assert.deepEqual(answers.find((m) => m.id === 's1'), { jsonrpc: '2.0', id: 's1', result: {} });
  assert.equal(answers.find((m) => m.id === 7).error.code, -32601);
  assert.equal(answers.length, 2);
  // A ping between the calls is answered too.
  await mcp.say({ id: 99, method: 'ping' });
  await mcp.wait(() => mcp.requests.some((r) => r.msg?.id === 99 && r.msg.result));
  await assertSettled(sql);
  assert.ok(!aside.part('asided').log.includes('secret-1'));
  await aside.part('asided').stop();
  assert.equal(mcp.sessions.size, 0, 'the session was ended');
});

test('the list of tools: pages, loops, changes, and what cannot be offered', BOUND, async (t) => {
  const mcp = await ScriptedMcp.start({ t });
  const tool = (name, more = {}) => ({ name, inputSchema: { type: 'object' }, ...more });
  const pages = { first: ['one', 'two'], p2: ['three', 'two'], p3: ['four'] };
  let list = (cursor) => ({
    tools: pages[cursor ?? 'first'].map((name) => tool(name)),
    nextCursor: { first: 'p2', p2: 'p3' }[cursor ?? 'first'],
  });
  mcp.intercept = (msg, req, res) => {
    if (msg.method !== 'tools/list') {
      return false;
    }
    mcp.reply(res, msg, list(msg.params.cursor));
    return true;
  };
  // Another says after each list that it has changed, which it has not.
  const noisy = await ScriptedMcp.start({ t });
  let since = 0;
  noisy.intercept = (msg) => {
    if (msg.method === 'tools/list') {
      since ||= Date.now();
      noisy.say({ method: 'notifications/tools/list_changed' }).catch(() => {});
    }
    return false;
  };
  const { model, aside, research, whole } = await started(t,
    { 'mcp.a.url': mcp.url, 'mcp.b.url': noisy.url, 'policy.a': 'allow' });
  await ready(aside, 'a');
  const seen = async () => {
    const before = model.requests.length;
    await whole((await research('what is there')).id);
    return offered(model.requests[before].body).filter((name) => name.startsWith('a__'));
  };
  assert.deepEqual(await seen(), ['a__one', 'a__two', 'a__three', 'a__four']);

  /** Another list: waits until what the model is offered is what it says. */
  const changed = async (next, expected) => {
    list = next;
    await mcp.say({ method: 'notifications/tools/list_changed' });
    await eventually(async () => {
      const names = await seen();
      assert.deepEqual(names, expected);
      return true;
    }, { what: `the tools are ${expected}` });
  };
  await changed(() => ({ tools: [tool('new'), { name: 'bad' }, 7, tool('')] }), ['a__new']);
  let asked = 0;
  await changed((cursor) => {
    asked += 1;
    return { tools: [tool(`t${cursor ?? ''}`)], nextCursor: 'same' };
  }, ['a__t', 'a__tsame']);
  assert.ok(asked <= 6, `asked ${asked} times`); // in a list or two
  asked = 0;
  await changed((cursor) => {
    asked += 1;
    return { tools: [tool(`t${asked}`)], nextCursor: `${Number(cursor ?? 0) + 1}` };
  }, Array.from({ length: 50 }, (_, i) => `a__t${i + 1}`));
  const big = 'd'.repeat(900);
  await changed(() => ({ tools: Array.from({ length: 300 }, (_, i) => tool(`x${i}`, { description: big })) }),
    // In a quarter of the room of a prompt, which is of both servers.
    Array.from({ length: Math.floor((32768 - 4096) / 4 / 2 / (35 + 2 + 616 + 12)) }, (_, i) => `a__x${i}`));
  await changed(() => ({ tools: [] }), []);
  // A list that is none ends the session; the next may be better.
  list = () => ({ tools: 'none' });
  await mcp.say({ method: 'notifications/tools/list_changed' });
  await aside.part('asided').logged(/mcp\.a not reached: its list of tools is not usable/);
  list = () => ({ tools: [tool('back')] });
  await ready(aside, 'a', 2);
  assert.deepEqual(await seen(), ['a__back']);
  // It is asked after 1, 2, 4, 8, ... s.
  await noisy.got('tools/list', 3);
  const lists = noisy.of('tools/list').length;
  const seconds = (Date.now() - since) / 1000;
  assert.ok(lists <= Math.log2(seconds + 1) + 2, `${lists} lists in ${seconds} s`);
});

test('versions: an older one is spoken, one that is not known is not', BOUND, async (t) => {
  const old = await ScriptedMcp.start({ t });
  const strange = await ScriptedMcp.start({ t });
  const choosy = await ScriptedMcp.start({ t });
  const stubborn = await ScriptedMcp.start({ t });
  for (const mcp of [old, strange, choosy, stubborn]) {
    mcp.tool('look', { readOnlyHint: true }, (call) => call.text('seen'));
  }
  old.version = '2024-11-05';
  old.hasStream = false;
  strange.version = '2031-01-01';
  const refuse = (mcp, res, msg, status) => res.writeHead(status, { 'content-type': 'application/json' })
    .end(JSON.stringify({ jsonrpc: '2.0', id: status === 400 ? null : msg.id,
      error: { code: -32602, message: 'Unsupported protocol version',
        data: { supported: ['2025-03-26', '2024-11-05'] } } }));
  choosy.intercept = (msg, req, res) => msg.method === 'initialize' &&
    msg.params.protocolVersion !== '2025-03-26' && (refuse(choosy, res, msg, 400), true);
  stubborn.intercept = (msg, req, res) => msg.method === 'initialize' &&
    (refuse(stubborn, res, msg, 200), true);
  const { model, aside, research, whole } = await started(t, {
    'mcp.old.url': old.url, 'mcp.strange.url': strange.url, 'mcp.choosy.url': choosy.url,
    'mcp.stubborn.url': stubborn.url,
  });
  const { log } = { log: aside.part('asided') };
  await log.logged(/mcp\.old ready: 1 tools, revision 2024-11-05/);
  await log.logged(/mcp\.choosy ready: 1 tools, revision 2025-03-26/);
  await log.logged(/mcp\.strange not reached: it speaks revision 2031-01-01 alone/);
  await log.logged(/mcp\.stubborn not reached: Unsupported protocol version/);
  model.next('research', (req, reply) => {
    assert.deepEqual(offered(req.body).filter((n) => n.includes('__')), ['choosy__look', 'old__look']);
    reply.call(['old__look', {}]);
  });
  const end = await whole((await research('look')).id);
  assert.equal(end.tool_calls[0].state, 'done');
  assert.ok(stubborn.of('initialize').length <= 4, 'it is asked twice, and then not often');
});
