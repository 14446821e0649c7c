// lock.mjs - hold SQLite's write lock from outside, as another program would.

import { spawn } from 'node:child_process';
import { once } from 'node:events';

/**
 * Take the write lock of a database through the sqlite3 command. Resolves once
 * it is held, to {run(sql), release(), released}; it is released by itself after ms.
 * @param {string} file
 * @param {number} ms
 */
export async function holdWriteLock(file, ms) {
  const child = spawn('sqlite3', ['-batch', '-cmd', '.timeout 5000', file],
    { stdio: ['pipe', 'pipe', 'pipe'] });
  const released = once(child, 'close');
  let said = '';
  let wrong = '';
  child.stderr.on('data', (chunk) => { wrong += chunk; });
  child.stdin.write("BEGIN IMMEDIATE;\nSELECT 'held';\n");
  while (!said.includes('held')) {
    const [chunk] = await Promise.race([once(child.stdout, 'data'), released]);
    if (wrong || !(chunk instanceof Buffer)) {
      child.kill();
      throw new Error(`sqlite3 ${file}: ${wrong || 'ended'}`);
    }
    said += chunk;
  }
  const timer = setTimeout(() => release(), ms);
  function release() {
    clearTimeout(timer);
    child.stdin.end('COMMIT;\n');
    return released;
  }
  return { release, released, run: (sql) => child.stdin.write(`${sql}\n`) };
}
