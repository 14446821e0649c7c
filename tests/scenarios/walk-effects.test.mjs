// walk-effects.test.mjs - the same for a death around every effect that leaves, and
// for every commit that fails.

import { test } from 'node:test';

import { walk } from '../support/walk.mjs';
import { BOUND } from '../support/patience.mjs';

test('R01 its n-th commit fails', BOUND, (t) => walk(t, 'ASIDE_FAULT_COMMIT', 'fail', 10));
test('R29 it dies before its n-th effect leaves', BOUND, (t) => walk(t, 'ASIDE_FAULT_SEND', 'before', 5));
test('R29 it dies after its n-th effect has left', BOUND, (t) => walk(t, 'ASIDE_FAULT_SEND', 'after', 5));
