// valgrind.test.mjs - both processes under valgrind's memcheck: nothing is read
// before it is written, and what they took is given back when they end.

import path from 'node:path';
import { test } from 'node:test';

import { BUILD } from '../support/harness.mjs';
import { load } from './load.mjs';

test('nothing leaks and nothing is read that was not written', { timeout: 400000 }, async (t) => {
  await load(t, {
    folder: path.join(BUILD, 'release'),
    command: 'valgrind --quiet --leak-check=full --show-leak-kinds=definite,possible ' +
      '--errors-for-leak-kinds=definite,possible --error-exitcode=99',
    clients: 2, rounds: 4,
  });
});
