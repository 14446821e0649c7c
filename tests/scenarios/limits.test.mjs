// limits.test.mjs - how often: writes of an account and from an address, and
// refused logins. The address is said by the test, in the web server's place.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import net from 'node:net';
import path from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';

import { begin, params, record, STDIN } from '../support/fastcgi.mjs';
import { bin, lookForLeaks, startAside } from '../support/harness.mjs';
import { BOUND } from '../support/patience.mjs';

lookForLeaks();

const run = promisify(execFile);

/** One request as a web server hands it on: {status, retry, json}. */
function ask(aside, method, where, { address, user, key, body, bearer } = {}) {
  const text = body === undefined ? '' : JSON.stringify(body);
  const values = {
    REQUEST_METHOD: method, REQUEST_URI: `/api/v1${where}`, REMOTE_ADDR: address ?? '192.0.2.1',
    ...(user ? { REMOTE_USER: user } : {}),
    ...(key ? { HTTP_IDEMPOTENCY_KEY: key } : {}),
    ...(bearer ? { HTTP_AUTHORIZATION: `Bearer ${bearer}` } : {}),
    ...(text ? { CONTENT_TYPE: 'application/json', CONTENT_LENGTH: String(text.length) } : {}),
  };
  return new Promise((resolve, reject) => {
    const chunks = [];
    const peer = net.connect(path.join(aside.dir, 'responder-1.sock'));
    peer.on('error', reject).on('data', (chunk) => chunks.push(chunk));
    peer.on('close', () => {
      const all = Buffer.concat(chunks);
      const parts = [];
      for (let at = 0; at + 8 <= all.length; at += 8 + all.readUInt16BE(at + 4) + all[at + 6]) {
        if (all[at + 1] === 6) {
          parts.push(all.subarray(at + 8, at + 8 + all.readUInt16BE(at + 4)));
        }
      }
      const reply = Buffer.concat(parts).toString();
      const [head, rest] = reply.split('\r\n\r\n');
      resolve({
        status: Number(/^Status: (\d+)/m.exec(head)?.[1]),
        retry: Number(/^Retry-After: (\d+)/m.exec(head)?.[1] ?? NaN),
        json: rest ? JSON.parse(rest) : undefined,
      });
    });
    peer.write(Buffer.concat([begin(), params(values),
      ...(text ? [record(STDIN, 1, text)] : []), record(STDIN, 1)]));
  });
}

function assertTooOften(reply, most = 60) {
  assert.equal(reply.status, 429, JSON.stringify(reply.json));
  assert.equal(reply.json.code, 'rate_limited');
  assert.equal(reply.json.accepted, false);
  assert.equal(reply.json.queued, false);
  assert.ok(reply.retry >= 1 && reply.retry <= most, `Retry-After: ${reply.retry}`);
}

test('R02 R19 writes too often are 429, but replays, stops, reads and others pass', BOUND, async (t) => {
  const aside = await startAside({
    t, runtime: false, responders: 1,
    conf: { auth: 'proxy', 'limit.account_per_minute': 4, 'short.limit': 9 },
  });
  const by = (user, more = {}) => ({ user, ...more });
  const post = (user, where, body, key = randomUUID(), address) =>
    ask(aside, 'POST', where, by(user, { body, key, address }));

  const made = await post('ann', '/conversations', {});
  assert.equal(made.status, 201);
  const at = `/conversations/${made.json.conversation.id}/messages`;
  const key = randomUUID();
  const first = await post('ann', at, { body: 'one' }, key);
  assert.equal(first.status, 202);
  assert.equal((await post('ann', at, { body: 'two' })).status, 202);
  assert.equal((await post('ann', at, { body: 'three' })).status, 202);

  // A minute's worth of four is used up: a fifth waits a quarter of it.
  assertTooOften(await post('ann', at, { body: 'four' }), 15);
  assertTooOften(await post('ann', '/conversations', {}, randomUUID(), '198.51.100.9'), 15);
  const again = await post('ann', at, { body: 'one' }, key);
  assert.equal(again.status, 202);
  assert.equal(again.json.replayed, true);
  assert.equal(again.json.run.id, first.json.run.id);
  assert.equal((await post('ann', at, { body: 'other' }, key)).json.code, 'key_reused');
  const read = await ask(aside, 'GET', `/conversations/${made.json.conversation.id}`, by('ann'));
  assert.deepEqual(read.json.messages.map((m) => m.body), ['one', 'two', 'three']);

  for (const { id } of read.json.runs) {
    const stop = await post('ann', `/runs/${id}/stop`);
    assert.equal(stop.status, 202);
    assert.equal(stop.json.run.state, 'stopped');
  }
  for (let i = 0; i < 40; i++) {
    assert.equal((await ask(aside, 'GET', '/overview', by('ann'))).status, 200);
    assert.equal((await ask(aside, 'GET', '/changes?after=0&wait=0', by('ann'))).status, 200);
    assert.equal((await ask(aside, 'GET', '/health')).status, 200);
  }
  assert.equal((await post('ben', '/conversations', {})).status, 201);
});

test('writes from one address are counted over its accounts, this machine\'s are not', BOUND, async (t) => {
  const aside = await startAside({
    t, runtime: false, responders: 1, conf: { auth: 'proxy', 'limit.address_per_minute': 3 },
  });
  const create = (user, address) =>
    ask(aside, 'POST', '/conversations', { user, address, body: {}, key: randomUUID() });

  for (const user of ['a', 'b', 'c']) {
    assert.equal((await create(user, '2001:db8:5:5::1')).status, 201);
  }
  assertTooOften(await create('d', '2001:db8:5:5::2'), 20);
  assert.equal((await create('d', '2001:db8:5:6::2')).status, 201);
  for (let i = 0; i < 9; i++) {
    assert.equal((await create('e', '127.0.0.1')).status, 201);
  }
});

test('wrong tokens too often are 429; the right one still opens a session', BOUND, async (t) => {
  const aside = await startAside({
    t, runtime: false, responders: 1, conf: { auth: 'token', 'limit.login_per_minute': 3 },
  });
  const cli = async (...words) => (await run(bin('aside'), words, { env: aside.env })).stdout.trim();
  await cli('account', 'add', 'ann');
  const secret = (await cli('token', 'add', '-a', 'ann', 'laptop')).match(/aside_[\w-]{43}/)[0];
  const open = (token, address) => ask(aside, 'POST', '/session', { body: { token }, address });
  const wrong = `aside_${'A'.repeat(43)}`;

  for (let i = 0; i < 3; i++) {
    assert.equal((await open(wrong)).status, 401);
  }
  assertTooOften(await open(wrong), 20);
  assertTooOften(await open('no token at all'), 20);
  assert.equal((await open(wrong, '198.51.100.1')).status, 401);
  assert.equal((await open(secret)).status, 201);
  assert.equal((await ask(aside, 'GET', '/overview', { bearer: secret })).status, 200);

  // Nor does a stranger fill the log: what is refused is told as often as a login is.
  for (let i = 0; i < 40; i++) {
    assert.equal((await ask(aside, 'GET', '/overview', { bearer: wrong, address: '203.0.113.9' })).status, 401);
  }
  const lines = aside.part('responder-1').log.split('\n').filter((line) => line.includes('203.0.113.9'));
  assert.ok(lines.length >= 1 && lines.length <= 6, lines.join('\n'));
});
