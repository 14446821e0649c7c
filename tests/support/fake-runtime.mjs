#!/usr/bin/env node
// fake-runtime.mjs - stands for asided in tests of the supervisor: says what it
// was given and waits. FAKE_STUBBORN makes it ignore SIGTERM.

const { ASIDE_DATA, ASIDE_MODEL_NAME, ASIDE_MODEL_URL, FAKE_STUBBORN } = process.env;

process.on('SIGTERM', () => {
  console.error('runtime ends');
  if (!FAKE_STUBBORN) {
    process.exit(0);
  }
});
console.error(`runtime of ${ASIDE_DATA} with ${ASIDE_MODEL_NAME} at ${ASIDE_MODEL_URL}`);
setInterval(() => {}, 1 << 30);
