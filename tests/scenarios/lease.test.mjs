// lease.test.mjs - who owns the database: a stand-by takes over from an owner that
// died or hangs, and from no other.

import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';

import { bin, eventually } from '../support/harness.mjs';
import { Program } from '../support/process.mjs';
import { assertSettled, started } from '../support/started.mjs';
import { BOUND } from '../support/patience.mjs';

const LOOK_MS = 500; // of the stand-by; it takes six of them to displace
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

async function world(t, conf = {}, env = {}) {
  const w = await started(t, conf, { env: { ASIDE_FAULT_LOOK: LOOK_MS, ...env } });
  /** A further asided on the same data, standing by; without what ails the first. */
  w.standBy = async (name) => {
    const sound = { ...w.aside.env, ASIDE_FAULT_HANG: undefined };
    const program = new Program(name, [bin('asided')], { env: sound });
    w.aside.parts.set(name, program);
    await program.logged(/standing by/);
    return program;
  };
  w.lease = () => w.sql('SELECT epoch, renewed_boot_ms FROM lease');
  return w;
}

/** Context switches of its own so far: how often it woke. */
async function wakeUps(program) {
  const status = await readFile(`/proc/${program.pid}/status`, 'utf8');
  return Number(status.match(/^voluntary_ctxt_switches:\s+(\d+)/m)[1]);
}

/** Wake a displaced owner: it must write nothing and say why it ends. */
async function assertFenced(w, sleeper) {
  const seq = await w.sql('SELECT max(seq) FROM change');
  sleeper.expected = true;
  sleeper.signal('SIGCONT');
  const exit = await sleeper.ended;
  assert.equal(exit.code, 1);
  assert.match(sleeper.log, /another runtime has taken over: ending/);
  assert.equal(await w.sql('SELECT max(seq) FROM change'), seq);
}

test('an owner stopped in mid-request is displaced; a third stays out of it', BOUND, async (t) => {
  const w = await world(t);
  const { model, aside, research, whole, sql } = w;
  model.next('research', async (req, reply) => {
    reply.text('x');
    await reply.hold('first');
    reply.report('# By the sleeper');
  });
  const first = aside.part('asided');
  const second = await w.standBy('second');
  const r = await research('the sea');
  const held = await model.held('first');
  first.signal('SIGSTOP');
  await second.logged(/has not renewed its lease.*taking over/);
  const third = await w.standBy('third');
  const end = await whole(r.id);
  assert.deepEqual([end.run.state, end.run.answer.body], ['completed', 'A scripted report.']);
  assert.deepEqual(end.requests.map((q) => q.state), ['unknown', 'done']);
  assert.equal((await aside.api('GET', '/health')).json.runtime, 'ok');
  held.release();
  await assertFenced(w, first);
  // The lock that the first had kept is free now, and opens nothing.
  const next = await research('the shore');
  assert.equal((await whole(next.id)).run.state, 'completed');
  assert.doesNotMatch(third.log, /running on/);
  assert.equal(second.exit, null, second.tail());
  await second.kill();
  await third.logged(/running on/);
  assert.equal((await whole((await research('the sky')).id)).run.state, 'completed');
  await assertSettled(sql);
});

test('an owner stopped at rest is displaced once there is work', BOUND, async (t) => {
  const w = await world(t);
  const { aside, send, whole } = w;
  const first = aside.part('asided');
  const second = await w.standBy('second');
  first.signal('SIGSTOP');
  const before = await w.lease();
  await sleep(8 * LOOK_MS); // longer than displacing would take
  assert.equal(await w.lease(), before, 'nothing is at work: nobody is displaced');
  const { run: s } = await send('question');
  await second.logged(/taking over/);
  assert.equal((await whole(s.id)).run.state, 'completed');
  await assertFenced(w, first);
});

test('an owner that waits for a silent model is left alone; at rest nobody wakes or writes', BOUND, async (t) => {
  const w = await world(t);
  const { model, aside, research, whole } = w;
  model.next('research', async (req, reply) => {
    reply.head();
    await reply.hold('silent');
    reply.report('# Late');
  });
  const first = aside.part('asided');
  const second = await w.standBy('second');
  const r = await research('the sea');
  const held = await model.held('silent');
  const seen = new Set();
  await eventually(async () => {
    seen.add(await w.lease());
    assert.doesNotMatch(second.log, /taking over/);
    return seen.size > 8; // renewed every second look, so for longer than six looks
  });
  held.release();
  assert.equal((await whole(r.id)).run.answer.body, '# Late');
  assert.equal(first.exit, null);
  // The stand-by looks once more and then listens to the bell.
  const rest = async () => [await wakeUps(first), await wakeUps(second), await w.lease()].join();
  await eventually(async () => {
    const before = await rest();
    await sleep(3 * LOOK_MS);
    return await rest() === before;
  });
});

test('R29 a Run that hangs its runtime is counted, and those beside it are not', BOUND, async (t) => {
  const w = await world(t, { 'background.limit': 2 }, { ASIDE_FAULT_HANG: '1' });
  const { model, aside, research, whole, sql } = w;
  model.next('research', async (req, reply) => {
    reply.text('x');
    await reply.hold('innocent');
  });
  const innocent = await research('the shore');
  await model.held('innocent');
  model.next('research', (req, reply) => reply.call(['fault_hang', {}]));
  const poison = await research('the sea');
  const first = aside.part('asided');
  const second = await w.standBy('second');
  await second.logged(/taking over/);
  const crashes = (r) => sql(`SELECT crashes FROM run WHERE id = ${r.id.slice(4)}`);
  await second.logged(/running on/);
  assert.equal(await crashes(poison), '1');
  assert.equal(await crashes(innocent), '0');
  assert.equal((await whole(innocent.id)).run.state, 'completed');
  assert.equal((await whole(poison.id)).run.state, 'completed');
  await first.kill(); // it is deaf to all else
  await assertSettled(sql);
});

test('a stand-by that is told to end does, whatever it waits for', BOUND, async (t) => {
  const w = await world(t);
  const { model, research, whole } = w;
  model.next('research', async (req, reply) => {
    reply.text('x');
    await reply.hold('first');
    reply.report('# R');
  });
  for (let i = 0; i < 8; i++) {
    const exit = await (await w.standBy(`resting-${i}`)).stop();
    assert.equal(exit.code, 0);
  }
  const r = await research('the sea');
  const held = await model.held('first');
  for (let i = 0; i < 4; i++) {
    const exit = await (await w.standBy(`looking-${i}`)).stop();
    assert.equal(exit.code, 0);
  }
  held.release();
  assert.equal((await whole(r.id)).run.state, 'completed');
});
