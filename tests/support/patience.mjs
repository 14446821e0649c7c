// patience.mjs - how long a test waits for what should come at once. It says
// when to give up, not what is expected: on a machine with much else to do,
// seconds become a minute. What must be quick is measured, and says so itself.

/** Of one event. */
export const PATIENCE_MS = 60000;

/** Of one test: ends a hang. */
export const BOUND = { timeout: 300000 };
