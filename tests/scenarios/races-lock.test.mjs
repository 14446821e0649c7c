// races-lock.test.mjs - the write lock held by somebody else while messages come,
// with the bound that ships (2 s), a hundred messages for each case.

import assert from 'node:assert/strict';
import path from 'node:path';
import { test } from 'node:test';

import { holdWriteLock } from '../support/lock.mjs';
import { started } from '../support/started.mjs';
import { BOUND } from '../support/patience.mjs';

const ROUNDS = 10;
const SENDERS = 10;

async function rounds(t, heldMs, judge) {
  const { aside, conv, sql } = await started(t, { 'short.limit': 1000 }, { runtime: false });
  const counts = {};
  for (let i = 0; i < ROUNDS; i++) {
    const lock = await holdWriteLock(path.join(aside.dataDir, 'aside.db'), heldMs);
    const posts = Array.from({ length: SENDERS }, (_, n) => aside.api(
      'POST', `/conversations/${conv}/messages`, { body: `message ${i}.${n}` }));
    const read = await aside.api('GET', `/conversations/${conv}`);
    assert.equal(read.status, 200, 'a reader is not held up');
    for (const reply of await Promise.all(posts)) {
      counts[reply.status] = (counts[reply.status] ?? 0) + 1;
      judge(reply);
    }
    await lock.release();
  }
  return { counts, stored: Number(await sql('SELECT count(*) FROM message')) };
}

test('R17 CASES H-1 H-2: a lock held 1.5 s is waited out, a hundred times', BOUND, async (t) => {
  const { counts, stored } = await rounds(t, 1500, (reply) => assert.equal(reply.status, 202, reply.text));
  assert.deepEqual(counts, { 202: ROUNDS * SENDERS });
  assert.equal(stored, ROUNDS * SENDERS);
});

test('R17 a lock held 5 s is busy, a hundred times, and nothing is stored', BOUND, async (t) => {
  const { counts, stored } = await rounds(t, 5000, (reply) => {
    assert.equal(reply.json?.code, 'busy', reply.text);
    assert.ok(Number(reply.headers['retry-after']) > 0);
  });
  assert.deepEqual(counts, { 503: ROUNDS * SENDERS });
  assert.equal(stored, 0);
});
