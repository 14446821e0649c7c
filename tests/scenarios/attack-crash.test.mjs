// attack-crash.test.mjs - the runtime dies, sleeps, loses the lock, the disk or
// the doorbell; and two of them.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFile, rm, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';

import { bin, eventually } from '../support/harness.mjs';
import { holdWriteLock } from '../support/lock.mjs';
import { Program } from '../support/process.mjs';
import { startSite } from '../support/site.mjs';
import { assertCallsAnswered, assertSettled, shelf, started } from '../support/started.mjs';
import { BOUND } from '../support/patience.mjs';

const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** Processor time of a process in ms. */
async function cpu(pid) {
  const fields = (await readFile(`/proc/${pid}/stat`, 'utf8')).split(') ')[1].split(' ');
  return (Number(fields[11]) + Number(fields[12])) * 10;
}

/** A further asided on the same data. */
function another(aside, name, env = {}) {
  const program = new Program(name, [bin('asided')], { env: { ...aside.env, ...env } });
  aside.parts.set(name, program);
  return program;
}

/** A research with two rounds of tools, an adjustment and a short answer. */
function script(model) {
  model.on('research', (req, reply) => {
    const rounds = req.body.messages.filter((m) => m.role === 'assistant' && m.tool_calls).length;
    if (rounds < 2) {
      reply.text(`round ${rounds}`);
      reply.call(['library_search', { query: 'tides' }], ['note', { text: 'moon' }]);
    } else {
      reply.report('# Done [1]');
    }
  });
  model.on('entry', (req, reply) => reply.text('one ').text('two').finish().usage().done());
}

/**
 * Keep two runtimes alive, one at work and one standing by, each with a fault at
 * another commit of its own: whoever takes over recovers what the last one left,
 * and dies in turn.
 */
function relay(aside, kind) {
  const faults = [2, 9, 3, 8, 4, 7, 5, 6];
  const alive = [];
  const all = [];
  const state = { over: false };
  const fill = () => {
    for (let i = alive.length - 1; i >= 0; i--) {
      if (alive[i].exit !== null) {
        alive.splice(i, 1);
      }
    }
    while (!state.over && alive.length < 2) {
      const n = faults.shift() ?? 1000000;
      const program = another(aside, `${kind}-${n}-${all.length}`, { ASIDE_FAULT_COMMIT: `${kind}:${n}` });
      program.expected = true;
      program.ended.then(fill);
      alive.push(program);
      all.push(program);
    }
  };
  fill();
  return {
    get left() {
      return faults.length;
    },
    /** A crash that no fault can time. */
    kill: () => alive[0].signal('SIGKILL'),
    async end() {
      state.over = true;
      await Promise.all(alive.map((program) => program.kill()));
      for (const program of all) {
        assert.deepEqual(program.faults(), []);
      }
    },
  };
}

for (const kind of ['abort', 'before', 'fail']) {
  test(`R29 ${kind} at commit after commit of research, answer and adjustment`, BOUND, async (t) => {
    const { model, aside, research, send, say, whole, sql } = await started(t, {}, { library: await shelf(t) });
    script(model);
    await aside.kill('asided', 'SIGTERM');
    aside.parts.delete('asided');
    const runtimes = relay(aside, kind);
    for (let round = 0; round < 30 && runtimes.left > 0; round++) {
      const r = await research(`the sea ${round}`);
      const { run: s } = await send(`question ${round}`);
      await say(r.id, `and salt ${round}`);
      const end = await whole(r.id);
      assert.equal(end.run.state, 'completed', `round ${round}: ${end.run.reason}`);
      const [h] = end.handoffs;
      assert.ok(h.state === 'handed' || (h.state === 'not_applied' && h.reason === 'run_ended'), h.state);
      assert.equal(end.run.coverage.length, h.state === 'handed' ? 2 : 1);
      const short = await whole(s.id);
      assert.equal(short.run.state, 'completed');
      assert.equal(short.run.answer.body, 'one two');
      if (kind === 'fail') {
        runtimes.kill();
      }
    }
    assert.equal(runtimes.left, 0);
    await assertSettled(sql);
    await runtimes.end();
    assertCallsAnswered(model);
  });
}

test('R24 stop while the runtime is dead: open effects are settled by the next', BOUND, async (t) => {
  const { model, aside, research, stop, run, sql } = await started(t, {}, { library: await shelf(t) });
  model.next('research', async (req, reply) => {
    reply.text('x');
    await reply.hold('held');
  });
  const r = await research('the sea');
  await model.held('held');
  await aside.kill('asided');
  const stopped = await stop(r.id);
  assert.equal(stopped.state, 'stopped');
  assert.equal((await run(r.id)).requests[0].state, 'sent');
  await aside.restart('asided');
  await eventually(async () => (await run(r.id)).requests[0].state === 'unknown');
  assert.equal((await run(r.id)).run.budget.tokens.unknown_requests, 1);
  await assertSettled(sql);
});

test('R29 a tool that takes its runtime down three times ends the Run', BOUND, async (t) => {
  const { model, aside, research, whole, run, sql } = await started(t, {}, { library: await shelf(t) });
  model.next('research', (req, reply) => reply.call(['library_search', { query: 'tides' }]));
  await aside.kill('asided', 'SIGTERM');
  const r = await research('the sea');
  // dies before the tool runs, each time: after the request at first, then at once
  let last;
  for (let i = 0; i < 8; i++) {
    last = another(aside, `dying-${i}`, { ASIDE_FAULT_SEND: `before:${i === 0 ? 2 : 1}` });
    last.expected = true;
    const what = await Promise.race([last.ended, eventually(async () =>
      (await run(r.id)).run.state !== 'running' && 'over')]);
    if (what === 'over' || (await run(r.id)).run.state !== 'running') {
      break;
    }
  }
  await last.kill();
  another(aside, 'asided');
  const end = await whole(r.id);
  assert.equal(end.run.state, 'failed');
  assert.equal(end.run.reason, 'crashed');
  await assertSettled(sql);
});

/** Runtimes with this fault, one after the other, until one lives to see it. */
async function outlived(aside, env, see) {
  for (let i = 0; i < 8; i++) {
    const last = another(aside, `${Object.keys(env)}-${i}`, env);
    last.expected = true;
    while (last.exit === null) {
      if (await see()) {
        return { last, deaths: i };
      }
      await sleep(20);
    }
  }
  return assert.fail('it dies again and again, for all');
}

test('R24 R29 a Run whose end takes its runtime down is closed by the fourth, and others go on', BOUND, async (t) => {
  const { model, aside, research, send, stop, run, whole, sql } = await started(t);
  const crashes = (r) => sql(`SELECT crashes FROM run WHERE id = ${r.id.slice(4)}`);
  const open = (r) => sql(`SELECT (SELECT count(*) FROM request WHERE run_id = run.id AND state = 'sent') +
    (SELECT count(*) FROM tool_call WHERE run_id = run.id AND state = 'sent') FROM run WHERE id = ${r.id.slice(4)}`);
  // Stopped while a request, and then a call, is under way.
  const site = await startSite(t);
  site.on('/never', site.hold('never'));
  const hang = ['fault_get', { url: site.url('/never') }];
  model.next('research', async (req, reply) => {
    reply.text('x');
    await reply.hold('held');
  });
  const begin = [async () => {
    await model.held('held');
  }, async (r) => {
    await aside.until((s) => [...s.toolCalls.values()].some((c) => c.run_id === r.id && c.state === 'sent'));
  }];
  model.on('entry', (req, reply) => reply.answer('Here.'));
  for (const [i, ready] of begin.entries()) {
    const r = await research(`the sea ${i}`);
    await ready(r);
    await aside.kill('asided');
    assert.equal((await stop(r.id)).state, 'stopped');
    assert.equal(await open(r), '1');
    const { last, deaths } = await outlived(aside, { ASIDE_FAULT_SETTLING: '1' }, async () => await open(r) === '0');
    assert.deepEqual([deaths, await crashes(r)], [3, '3']);
    const end = await run(r.id);
    assert.deepEqual([end.run.state, (end.tool_calls[0] ?? end.requests[0]).state], ['stopped', 'unknown']);
    assert.equal(end.run.budget.tokens.unknown_requests, i === 0 ? 1 : 0);
    // The same runtime does what others want of it.
    assert.equal((await whole((await send('question')).run.id)).run.answer.body, 'Here.');
    await last.kill();
    aside.parts.delete(last.name);
    model.next('research', (req, reply) => reply.call(hang));
    another(aside, 'asided');
  }
  await assertSettled(sql);
});

test('R29 a call whose end takes its runtime down three times ends the Run', BOUND, async (t) => {
  const { model, aside, research, run, sql } = await started(t);
  await aside.kill('asided', 'SIGTERM');
  const site = await startSite(t);
  site.on('/never', site.hold('never'));
  const hang = ['fault_get_soon', { url: site.url('/never') }];
  model.on('research', (req, reply) => reply.call(hang));
  const r = await research('the sea');
  const { deaths } = await outlived(aside, { ASIDE_FAULT_CANCEL: '1' }, async () => (await run(r.id)).run.state !== 'running');
  const end = await run(r.id);
  assert.deepEqual([deaths, end.run.state, end.run.reason], [3, 'failed', 'crashed']);
  await assertSettled(sql);
});

test('two runtimes: the stand-by takes over at once when the first is killed', BOUND, async (t) => {
  const { model, aside, research, whole } = await started(t);
  model.next('research', async (req, reply) => {
    reply.text('x');
    await reply.hold('first');
  });
  const second = another(aside, 'stand-by');
  await second.logged(/standing by/);
  const r = await research('the sea');
  await model.held('first');
  const at = Date.now();
  await aside.kill('asided');
  await second.logged(/going on with 1 Runs/);
  assert.ok(Date.now() - at < 5000);
  const end = await whole(r.id);
  assert.deepEqual(end.requests.map((q) => q.state), ['unknown', 'done']);
});

test('a runtime that slept through a take-over writes nothing and ends', BOUND, async (t) => {
  const { model, aside, research, whole, run, sql } = await started(t);
  model.next('research', async (req, reply) => {
    reply.text('x');
    await reply.hold('first');
    reply.report('# By the sleeper');
  });
  const r = await research('the sea');
  const held = await model.held('first');
  const sleeper = aside.part('asided');
  sleeper.expected = true;
  sleeper.signal('SIGSTOP');
  await rm(path.join(aside.dataDir, 'asided.lock'));
  aside.parts.set('sleeper', sleeper);
  another(aside, 'asided');
  const end = await whole(r.id);
  assert.equal(end.run.answer.body, 'A scripted report.');
  const seq = await sql('SELECT max(seq) FROM change');
  held.release();
  sleeper.signal('SIGCONT');
  const exit = await sleeper.ended;
  assert.equal(exit.code, 1);
  assert.match(sleeper.log, /another runtime has taken over/);
  assert.equal(await sql('SELECT max(seq) FROM change'), seq);
  assert.equal((await run(r.id)).run.answer.body, 'A scripted report.');
});

test('R17 the write lock held from outside while replies stream: nothing is lost', BOUND, async (t) => {
  const { model, aside, research, send, whole, sql } = await started(t);
  const text = Array.from({ length: 200 }, (_, i) => `word${i} `);
  model.on('entry', async (req, reply) => {
    for (const word of text) {
      reply.text(word);
      await sleep(5);
    }
    reply.finish().usage().done();
  });
  model.next('research', async (req, reply) => {
    await sleep(300);
    reply.report('# R');
  });
  for (const ms of [1500, 4000]) {
    const r = ms > 2000 ? await research('the sea') : null;
    const { run: s } = await send('question');
    await aside.until((state) => state.answer(s.id).length > 0);
    const lock = await holdWriteLock(path.join(aside.dataDir, 'aside.db'), ms);
    const pid = aside.part('asided').pid;
    const before = await cpu(pid);
    await sleep(ms - 300);
    assert.ok(await cpu(pid) - before < ms / 2, 'the runtime spins while it waits');
    await lock.released;
    const end = await whole(s.id);
    assert.equal(end.run.state, 'completed');
    assert.equal(end.run.answer.body, text.join(''));
    if (r) {
      assert.equal((await whole(r.id)).run.state, 'completed');
    }
  }
  await assertSettled(sql);
});

test('SIGTERM while the lock is held elsewhere is still recorded as a shutdown', BOUND, async (t) => {
  const { model, aside, research, run } = await started(t);
  model.next('research', async (req, reply) => {
    reply.text('x');
    await reply.hold('first');
  });
  const r = await research('the sea');
  await model.held('first');
  await aside.until((s) => [...s.requests.values()].some((q) => q.state === 'sent'));
  await holdWriteLock(path.join(aside.dataDir, 'aside.db'), 800);
  const exit = await aside.part('asided').stop();
  assert.equal(exit.code, 0);
  const q = (await run(r.id)).requests[0];
  assert.deepEqual([q.state, q.cause], ['interrupted', 'shutdown']);
});

test('SIGTERM while it starts ends it', BOUND, async (t) => {
  const { aside } = await started(t);
  await aside.kill('asided', 'SIGTERM');
  const lock = await holdWriteLock(path.join(aside.dataDir, 'aside.db'), 4000);
  const starting = another(aside, 'starting');
  // It has the lock file, and waits for the database to take the lease.
  await eventually(async () => (await aside.api('GET', '/health')).json.runtime === 'ok');
  const exit = await starting.stop('SIGTERM', 5000);
  assert.ok(exit.code === 0 || exit.code === 1, JSON.stringify(exit));
  starting.badEnd = '';
  await lock.release();
});

test('the doorbell deleted and replaced while a Run is at work', BOUND, async (t) => {
  const { model, aside, research, say, whole } = await started(t);
  model.next('research', async (req, reply) => {
    reply.text('x');
    await reply.hold('first');
  });
  const r = await research('the sea');
  await model.held('first');
  const bell = path.join(aside.dataDir, 'doorbell');
  await eventually(async () => {
    await rm(bell, { force: true }); // whoever notices makes it again
    await symlink('doorbell', bell); // nobody can ring or watch this
    return true;
  });
  await say(r.id, 'and salt');
  const end = await whole(r.id);
  assert.equal(end.run.state, 'completed');
  assert.equal(end.handoffs[0].state, 'handed');
  // Nothing is at work now: the next message is found all the same.
  await whole((await research('the shore')).id);
  await rm(bell);
  await writeFile(bell, '');
  await whole((await research('the sky')).id);
});

test('a full disk in mid-research: told in the log, and the Run goes on when there is room', BOUND, async (t) => {
  const { model, aside, research, whole, sql } = await started(t, {
    'model.context_tokens': 1000000, 'model.prompt_tokens': 900000,
  });
  const run = promisify(execFile);
  model.next('research', async (req, reply) => {
    reply.text('x');
    await reply.hold('first');
    reply.call(['note', { text: 'long '.repeat(40000) }]);
  });
  const r = await research('the sea');
  const held = await model.held('first');
  await aside.until((s) => [...s.requests.values()].some((q) => q.state === 'sent'));
  const { pid } = aside.part('asided');
  await run('prlimit', ['--pid', String(pid), '--fsize=4096:unlimited']);
  held.release();
  // It tries again, and lives.
  await aside.part('asided').logged(/(error .*sql: [^]*){3}/, 15000);
  assert.equal(aside.part('asided').exit, null, aside.part('asided').tail());
  assert.equal(await sql(`SELECT state FROM run WHERE id = ${r.id.slice(4)}`), 'running');
  await run('prlimit', ['--pid', String(pid), '--fsize=unlimited:unlimited']);
  const end = await whole(r.id);
  assert.equal(end.run.state, 'completed');
  assert.deepEqual(end.requests.map((q) => q.state), ['done', 'done']);
  await assertSettled(sql);
});

test('changes committed at the very moment of a turn are all seen', BOUND, async (t) => {
  const { model, aside, sql } = await started(t, { 'short.limit': 400, 'model.max_concurrent': 400 });
  model.on('entry', async (req, reply) => {
    for (let i = 0; i < 5; i++) {
      reply.text('w ');
      await sleep(10);
    }
    reply.finish().usage().done();
  });
  const conv = (await aside.api('POST', '/conversations', {})).json.conversation.id;
  const client = async () => {
    for (let i = 0; i < 8; i++) {
      const r = await aside.api('POST', `/conversations/${conv}/messages`, { body: 'q' });
      assert.equal(r.status, 202, r.text);
    }
  };
  await Promise.all(Array.from({ length: 8 }, client));
  await eventually(async () => await sql("SELECT count(*) FROM run WHERE state = 'completed'") === '64',
    { what: 'all 64 completed' });
  await assertSettled(sql);
});
