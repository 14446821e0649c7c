// writing.mjs - an Aside without runtime for tests of what the responders write:
// what is accepted stays as it is.

import { execFile } from 'node:child_process';
import path from 'node:path';
import { promisify } from 'node:util';

import { startAside } from './harness.mjs';

/**
 * @param {import('node:test').TestContext} t
 * @param {object} [options] as for startAside
 */
export async function startWriting(t, options = {}) {
  const aside = await startAside({ t, runtime: false, ...options });
  const file = path.join(aside.dataDir, 'aside.db');
  const sql = async (text) => (await promisify(execFile)(
    'sqlite3', ['-cmd', '.timeout 5000', file, text])).stdout.trim();
  /**
   * End a responder if it runs, and start it anew: with further variables, by a
   * command (prlimit, strace) before it. That it dies then is the test's matter.
   */
  const swap = async (name, { env, before } = {}) => {
    const old = aside.part(name);
    if (old.exit === null) {
      await old.stop();
    }
    aside.launch(name, env, before);
    aside.part(name).expected = true;
    await aside.ready();
    return aside.part(name);
  };
  return { aside, file, sql, swap };
}
