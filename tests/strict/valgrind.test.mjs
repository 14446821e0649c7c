// valgrind.test.mjs - both processes under valgrind's memcheck: nothing is read
// before it is written, and what they took is given back when they end.

import assert from 'node:assert/strict';
import path from 'node:path';
import { test } from 'node:test';

import { BUILD } from '../support/harness.mjs';
import { load } from './load.mjs';

test('nothing leaks and nothing is read that was not written', { timeout: 400000 }, async (t) => {
  const programs = await load(t, {
    folder: path.join(BUILD, 'release'),
    command: 'valgrind --leak-check=full --show-leak-kinds=definite,possible ' +
      '--errors-for-leak-kinds=definite,possible --error-exitcode=99',
    clients: 3, rounds: 6,
  });
  for (const program of programs) {
    assert.match(program.log, /ERROR SUMMARY: 0 errors from 0 contexts/, program.tail());
  }
});
