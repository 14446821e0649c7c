// threads.test.mjs - the responder's threads under load, watched by
// ThreadSanitizer: make tsan builds what this starts.

import path from 'node:path';
import { test } from 'node:test';

import { BUILD } from '../support/harness.mjs';
import { load } from './load.mjs';
import { BOUND } from '../support/patience.mjs';

test('no two threads touch the same thing at once', BOUND, async (t) => {
  await load(t, {
    folder: path.join(BUILD, 'tsan'), command: '', clients: 8, rounds: 12,
    env: { TSAN_OPTIONS: 'exitcode=66:second_deadlock_stack=1' },
  });
});
