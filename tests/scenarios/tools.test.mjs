// tools.test.mjs - tool calls that take their time: several at once, in the order
// of the reply, each with an end; cut, stopped, and gone on with after a crash.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { startSite } from '../support/site.mjs';
import { assertCallsAnswered, assertSettled, shelf, started } from '../support/started.mjs';
import { BOUND } from '../support/patience.mjs';

async function world(t, conf = {}, more = {}) {
  const w = await started(t, conf, more);
  const site = await startSite(t);
  const get = (path, name = 'fault_get') => [name, { url: site.url(path) }];
  /** A page that is held under its own path. */
  const hold = (...paths) => paths.forEach((p) => site.on(p, site.hold(p)));
  const told = () => w.model.requests.at(-1).body.messages
    .filter((m) => m.role === 'tool').map((m) => m.content);
  const report = () => w.model.next('research', (req, reply) => reply.report('# Done'));
  return { ...w, site, get, hold, told, report };
}

const states = (end) => end.tool_calls.filter((c) => c.name.startsWith('fault')).map((c) => c.state);

test('calls of one reply run at once, and are told in its order', BOUND, async (t) => {
  const { model, site, get, hold, told, report, research, whole, sql } = await world(t);
  hold('/a', '/b', '/c');
  model.next('research', (req, reply) => reply.call(get('/a'), get('/b'), get('/c')));
  report();
  const r = await research('the sea');
  const [a, b, c] = await Promise.all(['/a', '/b', '/c'].map((p) => site.held(p)));
  c.reply(203);
  b.reply(202);
  a.reply(201);
  const end = await whole(r.id);
  assert.deepEqual(states(end), ['done', 'done', 'done']);
  assert.deepEqual(told().map((x) => JSON.parse(x).status), [201, 202, 203]);
  assertCallsAnswered(model);
  await assertSettled(sql);
});

test('no more run at once than tools.parallel says; the others stay planned', BOUND, async (t) => {
  const { model, aside, site, get, hold, told, report, run, research, whole } =
    await world(t, { 'tools.parallel': 2 });
  const paths = ['/a', '/b', '/c', '/d', '/e'];
  hold(...paths);
  model.next('research', (req, reply) => reply.call(...paths.map((p) => get(p))));
  report();
  const r = await research('the sea');
  const first = [await site.held('/a'), await site.held('/b')];
  for (let i = 2; i < paths.length; i++) {
    const now = states(await run(r.id));
    assert.deepEqual([now.filter((s) => s === 'sent').length, now.filter((s) => s === 'planned').length],
      [2, 5 - i], `before ${paths[i]}`);
    assert.equal(site.asked.length, i);
    // whichever ends makes room for the next in order
    first.splice(i % 2, 1)[0].reply(200);
    first.push(await site.held(paths[i]));
  }
  first.forEach((h) => h.reply(200));
  assert.deepEqual(states(await whole(r.id)), Array(5).fill('done'));
  assert.deepEqual(site.asked.map((x) => x.path), paths);
  assert.equal(told().length, 5);
  assert.ok(aside);
});

test('what does not only read is made alone, in its place among the calls', BOUND, async (t) => {
  const { model, site, get, hold, report, research, whole } = await world(t);
  hold('/a', '/b', '/c', '/d');
  model.next('research', (req, reply) => reply.call(
    get('/a'), get('/b', 'fault_get_once'), get('/c'), get('/d')));
  report();
  const r = await research('the sea');
  const asked = () => site.asked.map((x) => x.path).join(' ');
  (await site.held('/a')).reply();
  const b = await site.held('/b');
  assert.equal(asked(), '/a /b');
  b.reply();
  await Promise.all(['/c', '/d'].map(async (p) => (await site.held(p)).reply()));
  assert.deepEqual(states(await whole(r.id)), Array(4).fill('done'));
  assert.equal(asked().slice(0, 5), '/a /b');
});

test('each call has an end in time, and the others are not held up by it', BOUND, async (t) => {
  const { model, site, get, hold, told, report, research, whole, sql } = await world(t);
  hold('/a', '/b', '/c');
  model.next('research', (req, reply) => reply.call(
    get('/a', 'fault_get_soon'), get('/b'), get('/c', 'fault_get_once_soon')));
  report();
  const r = await research('the sea');
  const a = await site.held('/a');
  const b = await site.held('/b');
  await a.closed;
  b.reply();
  await (await site.held('/c')).closed;
  const end = await whole(r.id);
  assert.deepEqual(states(end), ['failed', 'done', 'unknown']);
  assert.match(told()[0], /no result in the time allowed/);
  assert.match(told()[2], /outcome is unknown/);
  assert.match(end.tool_calls[2].error, /unknown/);
  assertCallsAnswered(model);
  await assertSettled(sql);
});

test('R24 a stop closes the connections of calls under way', BOUND, async (t) => {
  const { model, aside, site, get, hold, research, stop, run, sql } = await world(t);
  hold('/a', '/b');
  model.next('research', (req, reply) => reply.call(get('/a'), get('/b'), get('/c', 'fault_get_once')));
  const r = await research('the sea');
  const a = await site.held('/a');
  const b = await site.held('/b');
  await stop(r.id);
  await Promise.all([a.closed, b.closed]);
  await assertSettled(sql);
  const end = await run(r.id);
  assert.deepEqual(end.tool_calls.map((c) => [c.state, c.cause]),
    [['interrupted', 'stop'], ['interrupted', 'stop'], ['skipped', 'stop']]);
  assert.equal(site.count('/c'), 0);
  assert.ok(aside);
});

test('R21 an adjustment cuts what only reads after its grace; the rest runs to its end', BOUND, async (t) => {
  const { model, site, get, hold, told, report, research, say, whole, sql } = await world(t);
  hold('/a', '/b', '/c');
  model.next('research', (req, reply) => reply.call(get('/a'), get('/b'), get('/c')));
  report();
  const r = await research('the sea');
  const [a, b] = [await site.held('/a'), await site.held('/b')];
  await site.held('/c');
  await say(r.id, 'the shore too');
  b.reply(); // within its grace: kept
  await a.closed;
  const end = await whole(r.id);
  assert.deepEqual(end.tool_calls.slice(0, 3).map((c) => [c.state, c.cause]),
    [['interrupted', 'adjustment'], ['done', null], ['interrupted', 'adjustment']]);
  assert.match(told()[0], /said something new/);
  assertCallsAnswered(model);

  hold('/d');
  model.next('research', (req, reply) => reply.call(get('/d', 'fault_get_once'), get('/e')));
  report();
  const other = await research('the shore');
  const d = await site.held('/d');
  await say(other.id, 'and its birds');
  await new Promise((resolve) => setTimeout(resolve, 2500)); // its grace, if it had one
  assert.equal(d.over, false);
  d.reply();
  assert.deepEqual((await whole(other.id)).tool_calls.slice(0, 2).map((c) => [c.state, c.cause]),
    [['done', null], ['skipped', 'adjustment']]);
  assertCallsAnswered(model);
  await assertSettled(sql);
});

test('R26 the end of the time cuts calls, and the report says so', BOUND, async (t) => {
  const { model, site, get, hold, research, whole, sql } = await world(t, { 'budget.normal.seconds': 5 });
  hold('/a');
  model.next('research', (req, reply) => reply.call(get('/a'), get('/b', 'fault_get_once')));
  model.next('closeout', (req, reply) => reply.report('# What there is'));
  const r = await research('the sea');
  await (await site.held('/a')).closed;
  const end = await whole(r.id);
  assert.deepEqual([end.run.state, end.run.reason], ['incomplete', 'deadline']);
  assert.deepEqual(end.tool_calls.slice(0, 2).map((c) => [c.state, c.cause]),
    [['interrupted', 'deadline'], ['skipped', 'deadline']]);
  assertCallsAnswered(model);
  await assertSettled(sql);
});

test('R29 killed with calls under way: what only reads is made again, the rest is not', BOUND, async (t) => {
  const { model, aside, site, get, hold, told, report, research, whole, sql } = await world(t);
  hold('/a', '/b');
  model.next('research', (req, reply) => reply.call(get('/a'), get('/b')));
  report();
  const r = await research('the sea');
  await site.held('/a');
  (await site.held('/b')).reply();
  await aside.until((s) => [...s.toolCalls.values()].some((c) => c.state === 'done'));
  await aside.part('asided').kill();
  aside.launch('asided');
  (await site.held('/a')).reply();
  assert.deepEqual(states(await whole(r.id)), ['done', 'done']);
  assert.deepEqual([site.count('/a'), site.count('/b')], [2, 1]);

  hold('/c');
  model.next('research', (req, reply) => reply.call(get('/c', 'fault_get_once')));
  report();
  const other = await research('the shore');
  await site.held('/c');
  await aside.part('asided').kill();
  aside.launch('asided');
  assert.deepEqual(states(await whole(other.id)), ['unknown']);
  assert.match(told()[0], /unknown/);
  assert.equal(site.count('/c'), 1);
  assertCallsAnswered(model);
  await assertSettled(sql);
});

test('R29 SIGTERM with calls under way: the rows say what is known', BOUND, async (t) => {
  const { model, aside, site, get, hold, report, research, run, whole, sql } =
    await world(t, { 'background.limit': 2 });
  hold('/a', '/b');
  model.next('research', (req, reply) => reply.call(get('/a')));
  const reads = await research('the sea');
  const a = await site.held('/a');
  model.next('research', (req, reply) => reply.call(get('/b', 'fault_get_once')));
  const acts = await research('the shore');
  const b = await site.held('/b');
  assert.equal((await aside.part('asided').stop()).code, 0);
  await Promise.all([a.closed, b.closed]);
  const shown = async (r) => (await run(r.id)).tool_calls.map((c) => [c.state, c.cause]);
  assert.deepEqual(await shown(reads), [['sent', null]]);
  assert.deepEqual(await shown(acts), [['unknown', 'shutdown']]);
  report();
  report();
  aside.launch('asided');
  (await site.held('/a')).reply();
  assert.deepEqual(states(await whole(reads.id)), ['done']);
  assert.deepEqual(states(await whole(acts.id)), ['unknown']);
  assert.equal(site.count('/b'), 1);
  await assertSettled(sql);
});

test('a short answer looks up several places at once; a library is not waited for by others', BOUND, async (t) => {
  const { model, site, get, hold, told, send, whole, sql } = await world(t, {}, { library: await shelf(t) });
  hold('/a', '/b');
  model.next('entry', (req, reply) => reply.call(
    get('/a'), ['library_search', { query: 'tides' }], get('/b')));
  model.next('answer', (req, reply) => reply.answer('The moon.'));
  const { run: r } = await send('why tides?');
  const [a, b] = [await site.held('/a'), await site.held('/b')];
  b.reply(202);
  a.reply(201);
  const end = await whole(r.id);
  assert.equal(end.run.answer.body, 'The moon.');
  assert.deepEqual(end.tool_calls.map((c) => c.state), ['done', 'done', 'done']);
  assert.equal(JSON.parse(told()[0]).status, 201);
  assert.ok(JSON.parse(told()[1]).passages.length > 0);
  assert.equal(JSON.parse(told()[2]).status, 202);
  assertCallsAnswered(model);
  await assertSettled(sql);
});
