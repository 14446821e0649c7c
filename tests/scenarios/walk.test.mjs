// walk.test.mjs - the runtime dies at every commit and around every effect of one
// scenario, is started again, and must leave the same ledger (R01, R29).

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { assertCallsAnswered, assertSettled, shelf, started } from '../support/started.mjs';
import { Keeper, assertWalked, scriptWalk, walkOnce } from '../support/walk.mjs';

const BOUND = { timeout: 180000 };
const STEPS_MAX = 80;

/** What the second runtime dies of: it has a recovery to get wrong. */
const AGAIN = ['abort:2', 'before:2', 'abort:3', 'fail:2', 'before:4', 'abort:5'];

async function walk(t, variable, kind, least) {
  const world = await started(t, {}, { library: await shelf(t), runtime: false });
  const keeper = new Keeper(world.aside);
  scriptWalk(world.model);
  let n = 1;
  for (let struck = true; struck && n <= STEPS_MAX; n++) {
    await keeper.begin([{ [variable]: `${kind}:${n}` },
      { ASIDE_FAULT_COMMIT: AGAIN[n % AGAIN.length] }]);
    try {
      await assertWalked(world, await walkOnce(world, n), n);
    } catch (error) {
      error.message = `${kind} at ${n}: ${error.message}`;
      throw error;
    }
    struck = keeper.struck;
  }
  await keeper.end();
  assert.ok(n > least, `the scenario has only ${n} steps`);
  assert.ok(n < STEPS_MAX);
  t.diagnostic(`${n - 1} steps`);
  assertCallsAnswered(world.model);
  await assertSettled(world.sql);
  assert.equal(await world.sql('PRAGMA integrity_check'), 'ok');
  assert.equal(await world.sql('PRAGMA foreign_key_check'), '');
}

test('R29 it dies right after its n-th commit', BOUND, (t) => walk(t, 'ASIDE_FAULT_COMMIT', 'abort', 10));
test('R29 it dies right before its n-th commit', BOUND, (t) => walk(t, 'ASIDE_FAULT_COMMIT', 'before', 10));
test('R01 its n-th commit fails', BOUND, (t) => walk(t, 'ASIDE_FAULT_COMMIT', 'fail', 10));
test('R29 it dies before its n-th effect leaves', BOUND, (t) => walk(t, 'ASIDE_FAULT_SEND', 'before', 5));
test('R29 it dies after its n-th effect has left', BOUND, (t) => walk(t, 'ASIDE_FAULT_SEND', 'after', 5));
