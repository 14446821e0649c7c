// walk.test.mjs - the runtime dies at every commit of one scenario, is started
// again, and must leave the same ledger (R01, R29).

import { test } from 'node:test';

import { walk } from '../support/walk.mjs';
import { BOUND } from '../support/patience.mjs';

test('R29 it dies right after its n-th commit', BOUND, (t) => walk(t, 'ASIDE_FAULT_COMMIT', 'abort', 10));
test('R29 it dies right before its n-th commit', BOUND, (t) => walk(t, 'ASIDE_FAULT_COMMIT', 'before', 10));
