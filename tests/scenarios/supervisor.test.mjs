// `aside run` with stand-ins for our programs: what it starts, restarts, ends
// and says.

import assert from 'node:assert/strict';
import { access, mkdir, readFile } from 'node:fs/promises';
import net from 'node:net';
import path from 'node:path';
import { test } from 'node:test';

import { eventually, freePort, temporaryDir } from '../support/harness.mjs';
import { Supervised, childrenOf, runs } from '../support/supervised.mjs';
import { BOUND } from '../support/patience.mjs';


test('everything starts, and its address is told once it answers', BOUND, async (t) => {
  const aside = await Supervised.start({ t });
  const [, address] = await aside.ready();
  assert.equal(address, `http://localhost:${aside.port}/`);
  assert.equal((await aside.get('/')).text, 'the page\n');
  assert.equal((await aside.get('/api/v1/health')).json.runtime, 'ok');
  await aside.program.logged(new RegExp(
    `runtime of ${aside.dir}/data with offline at http://127.0.0.1:${aside.port}/offline/v1`));
  const parts = await childrenOf(aside.program.pid);
  assert.equal(parts.length, 5);
  assert.ok(parts.every((part) => part.group === part.pid), 'a group of its own for each');
});

test('SIGINT ends the runtime first, then the rest, and leaves nothing', BOUND, async (t) => {
  const aside = await Supervised.start({ t });
  await aside.ready();
  const parts = await childrenOf(aside.program.pid);
  const workers = await childrenOf(aside.pidOf('nginx'));
  assert.ok(workers.length >= 1);
  const exit = await aside.program.stop('SIGINT', 15000);
  assert.deepEqual(exit, { code: 0, signal: null });
  assert.doesNotMatch(aside.program.log, /\[(crit|error|alert|emerg)\]/);
  for (const { pid, name } of [...parts, ...workers]) {
    assert.equal(await runs(pid), false, `${name} is gone`);
  }
  const log = aside.program.log;
  assert.ok(log.indexOf('runtime ends') > 0);
  assert.ok(log.indexOf('runtime ends') < log.indexOf('responder ends'));
  await assert.rejects(access(path.join(aside.dir, 'run/responder-1.sock')));
});

test('a part that dies is started again, after pauses that double', BOUND, async (t) => {
  const aside = await Supervised.start({ t });
  await aside.ready();
  for (const pause of [250, 500, 1000]) {
    const before = aside.pidOf('asided');
    process.kill(before, 'SIGKILL');
    await aside.program.logged(
      new RegExp(`asided was ended by signal 9 .*starts again in ${pause} ms`));
    const after = await aside.replaced('asided', before);
    await eventually(() => runs(after));
  }
  const responder = aside.pidOf('responder-1');
  process.kill(responder, 'SIGKILL');
  for (let i = 0; i < 5; i++) {
    assert.equal((await aside.get('/api/v1/health')).status, 200, 'the other one answers');
  }
  await aside.replaced('responder-1', responder);
});

test('a killed nginx leaves no worker behind and comes back', BOUND, async (t) => {
  const aside = await Supervised.start({ t });
  await aside.ready();
  const before = aside.pidOf('nginx');
  const workers = await childrenOf(before);
  process.kill(before, 'SIGKILL');
  await aside.replaced('nginx', before);
  for (const { pid } of workers) {
    assert.equal(await runs(pid), false);
  }
  await eventually(async () => (await aside.get('/api/v1/health')).status === 200);
});

test('a killed supervisor leaves nothing behind', BOUND, async (t) => {
  const aside = await Supervised.start({ t });
  await aside.ready();
  const all = [
    ...await childrenOf(aside.program.pid), ...await childrenOf(aside.pidOf('nginx')),
  ];
  await aside.program.kill('SIGKILL');
  await eventually(async () => {
    const left = await Promise.all(all.map(({ pid }) => runs(pid)));
    return left.every((running) => !running);
  }, { what: 'all parts are gone' });
});

test('with nothing to do it is not woken', BOUND, async (t) => {
  const aside = await Supervised.start({ t });
  await aside.ready();
  const switches = async () => Number((await readFile(
    `/proc/${aside.program.pid}/status`, 'utf8')).match(/^voluntary_ctxt_switches:\s+(\d+)/m)[1]);
  // It falls asleep right after telling that it is ready.
  await eventually(async () =>
    /\) S /.test(await readFile(`/proc/${aside.program.pid}/stat`, 'utf8')));
  const before = await switches();
  await new Promise((resolve) => setTimeout(resolve, 1500)); // what is measured
  assert.equal(await switches() - before, 0);
});

test('a port that is taken is told in one line', BOUND, async (t) => {
  const server = net.createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  t.after(() => server.close());
  const { port } = server.address();
  const aside = await Supervised.start({ t, port });
  const exit = await aside.program.ended;
  assert.equal(exit.code, 2);
  assert.match(aside.program.log, new RegExp(`port ${port}: Address already in use; PORT=`));
  assert.equal(aside.program.log.trim().split('\n').length, 1);
});

test('a part that cannot start ends the start, and is named', BOUND, async (t) => {
  const aside = await Supervised.start({
    t, fakes: { asided: '#!/bin/sh\nexit 7\n' }, env: { ASIDE_TEST_HEALTH_RUNTIME: 'absent' },
  });
  const exit = await aside.program.ended;
  assert.equal(exit.code, 1);
  assert.match(aside.program.log, /asided ended with status 7, 4 times before .*giving up/);
});

test('health that never comes ends the start, and what is missing is named', BOUND, async (t) => {
  const aside = await Supervised.start({
    t, args: ['-w', '8'], env: { ASIDE_TEST_HEALTH_RUNTIME: 'absent' },
  });
  const exit = await aside.program.ended;
  assert.equal(exit.code, 1);
  assert.match(aside.program.log, /not everything answers after 8 s; .*runtime is "absent"/);
});

test('a part that will not end is killed after 10 s', BOUND, async (t) => {
  const aside = await Supervised.start({ t, env: { FAKE_STUBBORN: '1' } });
  await aside.ready();
  await aside.program.logged(/runtime of/);
  const pid = aside.pidOf('asided');
  const exit = await aside.program.stop('SIGTERM', 20000);
  assert.equal(exit.code, 0);
  assert.match(aside.program.log, /asided did not end within 10 s, killed/);
  assert.equal(await runs(pid), false);
});

test('a path too long for sockets moves them to a short folder', BOUND, async (t) => {
  const base = await temporaryDir();
  const dir = path.join(base, 'a'.repeat(120));
  await mkdir(dir);
  const aside = await Supervised.start({ t, dir, env: { XDG_RUNTIME_DIR: base } });
  const [, sockets] = await aside.program.logged(/too long a path for sockets; they are in (\S+)/);
  await aside.ready();
  assert.ok(sockets.startsWith(`${base}/aside-`));
  assert.equal((await aside.get('/api/v1/health')).status, 200);
  assert.equal((await aside.program.stop()).code, 0);
  await assert.rejects(access(sockets), 'the folder is removed again');
});

test('one folder has one supervisor', BOUND, async (t) => {
  const first = await Supervised.start({ t });
  await first.ready();
  const second = await Supervised.start({ t, dir: first.dir, port: await freePort() });
  assert.equal((await second.program.ended).code, 2);
  assert.match(second.program.log, /another `aside run` is at work in/);
  assert.equal((await first.get('/api/v1/health')).status, 200);
});

test('what the options get wrong is said before anything starts', BOUND, async (t) => {
  const cases = [
    [['-p', 'http'], /port "http": expected a number from 1 to 65535/],
    [['-p', '0'], /expected a number from 1 to 65535/],
    [['now'], /unexpected argument "now"/],
    [['-c', '/nowhere/aside.conf'], /\/nowhere\/aside.conf/],
  ];
  for (const [args, message] of cases) {
    const aside = await Supervised.start({ t, args });
    assert.equal((await aside.program.ended).code, 2);
    assert.match(aside.program.log, message);
  }
  const typo = await Supervised.start({ t, env: { ASIDE_MODEL_ULR: 'x' } });
  assert.equal((await typo.program.ended).code, 2);
  assert.match(typo.program.log, /ASIDE_MODEL_ULR/);
});
