// attack-responder.test.mjs - the responders lose the disk, descriptors, time, their
// database or their lives, with work in hand.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { readFile, rename, rm } from 'node:fs/promises';
import net from 'node:net';
import { test } from 'node:test';
import { promisify } from 'node:util';

import { eventually } from '../support/harness.mjs';
import { startWriting } from '../support/writing.mjs';
import { BOUND } from '../support/patience.mjs';

const run = promisify(execFile);

const make = (aside, title) => aside.api('POST', '/conversations', { title }, { key: title.replaceAll(' ', '-') });
const titles = async (sql) => (await sql('SELECT title FROM conversation ORDER BY id')).split('\n');

test('R01 a file that may not grow is a full disk: told, survived, and made good', BOUND, async (t) => {
  const { aside, sql } = await startWriting(t, { responders: 1 });
  const { pid } = aside.part('responder-1');
  assert.equal((await make(aside, 'before')).status, 201);
  await run('prlimit', ['--pid', String(pid), '--fsize=4096:unlimited']);
  for (let n = 0; n < 3; n++) {
    const reply = await make(aside, 'refused');
    assert.equal(reply.status, 507, reply.text);
    assert.equal(reply.json.code, 'disk_full');
  }
  assert.equal((await aside.api('GET', '/overview')).status, 200);
  assert.equal(aside.part('responder-1').exit, null);
  assert.deepEqual(await titles(sql), ['before']);
  await run('prlimit', ['--pid', String(pid), '--fsize=unlimited:unlimited']);
  assert.equal((await make(aside, 'refused')).status, 201);
  assert.deepEqual(await titles(sql), ['before', 'refused']);
});

test('R01 a database that was replaced gets no receipt: each responder ends, and begins on the new one', BOUND, async (t) => {
  const { aside, file, sql } = await startWriting(t);
  assert.equal((await make(aside, 'in both')).status, 201);
  await sql(`VACUUM INTO '${file}.backup'`);
  assert.equal((await make(aside, 'in the old one')).status, 201);
  for (const end of ['-wal', '-shm']) {
    await rm(file + end);
  }
  await rename(`${file}.backup`, file);
  for (const name of ['responder-1', 'responder-2']) {
    aside.part(name).expected = true;
  }
  for (let n = 0; n < 2; n++) { // one after the other is asked
    const reply = await make(aside, `lost ${n}`);
    assert.equal(reply.status, 503, reply.text);
    assert.equal(reply.json.code, 'busy');
  }
  for (const name of ['responder-1', 'responder-2']) {
    const program = aside.part(name);
    assert.deepEqual(await program.ended, { code: 0, signal: null });
    assert.match(program.log, /deleted or replaced/);
    aside.launch(name);
  }
  await aside.ready();
  assert.equal((await make(aside, 'in the new one')).status, 201);
  assert.deepEqual(await titles(sql), ['in both', 'in the new one']);
});

test('more polls than descriptors: the rest is answered at once, and writes go on', BOUND, async (t) => {
  const { aside, swap } = await startWriting(t, { responders: 1 });
  const program = await swap('responder-1', { before: ['prlimit', '--nofile=64:64', '--'] });
  assert.equal((await make(aside, 'a')).status, 201);
  const { next } = (await aside.api('GET', '/changes?after=0')).json;
  let early = 0;
  const polls = Array.from({ length: 60 }, async () => {
    const reply = await aside.api('GET', `/changes?after=${next}&wait=50`);
    early += reply.json?.changes.length === 0 ? 1 : 0;
    return reply;
  });
  await eventually(() => early >= 30, { what: 'those without room are answered' });
  assert.equal((await make(aside, 'b')).status, 201);
  for (const reply of await Promise.all(polls)) {
    assert.equal(reply.status, 200, reply.text);
  }
  assert.ok(early < 60, 'some were parked');
  assert.equal(program.exit, null);
});

test('responders and nginx that are stopped for moments lose nothing', BOUND, async (t) => {
  const { aside } = await startWriting(t);
  const { pid } = aside.part('nginx');
  const [worker] = (await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8')).trim().split(' ');
  const who = [Number(worker), aside.part('responder-1').pid, aside.part('responder-2').pid];
  const signal = (name) => who.forEach((one) => process.kill(one, name));
  // as large as it may be, so that each needs many reads and writes
  const large = `{"title":"x"}${' '.repeat(200000)}`;
  let done = false;
  const calls = Promise.all(Array.from({ length: 120 }, (_, n) => (n % 2 === 0
    ? aside.api('POST', '/conversations', large)
    : aside.api('GET', '/conversations/conv_1')))).finally(() => { done = true; });
  for (let n = 0; !done; n++) {
    process.kill(who[n % 3], 'SIGSTOP');
    await new Promise((resolve) => setTimeout(resolve, n % 10));
    signal('SIGCONT');
    await new Promise((resolve) => setTimeout(resolve, 3));
  }
  for (const reply of await calls) {
    assert.ok([200, 201, 404].includes(reply.status), reply.text);
  }
});

for (const how of ['SIGKILL', 'SIGTERM']) {
  test(`R01 R02 ${how} of one responder under load: nobody sees it, nothing is lost or doubled`, BOUND, async (t) => {
    const { aside, sql, swap } = await startWriting(t);
    const accepted = [];
    let over = false;
    const client = async (name) => {
      for (let n = 0; !over; n++) {
        const reply = await make(aside, `${name}-${n}`);
        assert.equal(reply.status, 201, reply.text);
        accepted.push(`${name}-${n}`);
      }
    };
    const poller = async () => {
      for (let after = 0; !over;) {
        const reply = await aside.api('GET', `/changes?after=${after}&wait=1`);
        assert.equal(reply.status, 200, reply.text);
        after = reply.json.next;
      }
    };
    const clients = Promise.all([
      ...Array.from({ length: 12 }, (_, n) => client(n)), poller(), poller()]);
    clients.catch(() => { over = true; });
    for (let n = 0; n < 6 && !over; n++) {
      const name = `responder-${1 + (n % 2)}`;
      const before = accepted.length;
      await eventually(() => over || accepted.length > before + 30);
      await aside.part(name).kill(how);
      await swap(name);
    }
    over = true;
    await clients;
    assert.deepEqual((await titles(sql)).sort(), accepted.sort());
  });
}

test('R04 clients that hang up at each moment leave nothing behind', BOUND, async (t) => {
  const { aside, sql } = await startWriting(t);
  const body = JSON.stringify({ title: 'hung up' });
  const head = (n) => `POST /api/v1/conversations HTTP/1.1\r\nHost: localhost\r\nIdempotency-Key: h${n}\r\n`
    + `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n`;
  const whole = head(0).length + body.length;
  for (let n = 0; n < 60; n++) {
    const socket = net.connect(aside.port, '127.0.0.1');
    await once(socket, 'connect');
    const text = (head(n % 10) + body).slice(0, Math.ceil((n + 1) * whole / 60));
    socket.on('error', () => {}).write(text, () => (n % 2 ? socket.destroy() : socket.resetAndDestroy?.() ?? socket.destroy()));
    await once(socket, 'close');
  }
  const polls = Array.from({ length: 50 }, (_, n) => {
    const abort = new AbortController();
    const poll = aside.api('GET', '/changes?after=1000&wait=50', undefined, { signal: abort.signal }).catch(() => {});
    setTimeout(() => abort.abort(), n);
    return poll;
  });
  await Promise.all(polls);
  assert.equal((await make(aside, 'after')).status, 201);
  const known = (await titles(sql)).filter((title) => title !== 'after');
  assert.ok(known.length <= 10, 'each key at most once');
  await eventually(async () => {
    const open = await Promise.all(['responder-1', 'responder-2'].map(async (name) => (
      await run('sh', ['-c', `ls -l /proc/${aside.part(name).pid}/fd | grep -c socket: || true`])).stdout));
    return open.every((count) => Number(count) <= 4);
  }, { what: 'no connection is left' });
});
