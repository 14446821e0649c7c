// copies.test.mjs - the files as they are at any instant are a whole database: what a
// power cut leaves, or a snapshot of the file system takes.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { copyFile, mkdir, readFile, rm } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';

import { done } from '../support/command.mjs';
import { eventually } from '../support/harness.mjs';
import { assertSettled, started } from '../support/started.mjs';
import { BOUND } from '../support/patience.mjs';

// So many, or what a slow machine makes of them in this time.
const COPIES = 200;
const COPIES_LEAST = 40;
const COPYING_MS = 40000;
const FILES = ['aside.db', 'aside.db-wal', 'aside.db-shm'];
// Each order, and without the index of the log, which is made anew.
const ORDERS = [[0, 1, 2], [1, 0, 2], [2, 1, 0], [0, 2, 1], [1, 2, 0], [2, 0, 1], [0, 1], [1, 0]];
const WRITERS = ['asided', 'responder-1', 'responder-2'];

/** Stop these processes wherever they are, wait until they stand, and let go afterwards. */
async function atOneInstant(programs, step) {
  for (const p of programs) {
    p.signal('SIGSTOP');
  }
  try {
    for (const p of programs) {
      await eventually(async () => {
        const line = await readFile(`/proc/${p.pid}/stat`, 'utf8');
        const threads = /\) (\w)/.exec(line);
        return threads?.[1] === 'T';
      }, { what: `${p.name} stands` });
    }
    await step();
  } finally {
    for (const p of programs) {
      p.signal('SIGCONT');
    }
  }
}

async function opened(dir) {
  const { stdout } = await promisify(execFile)('sqlite3', [path.join(dir, 'aside.db'),
    'PRAGMA integrity_check; SELECT id FROM conversation ORDER BY id;'],
  { maxBuffer: 16 << 20 });
  const [sound, ...ids] = stdout.trim().split('\n');
  return { sound, ids: new Set(ids.map(Number)) };
}

test('a copy of the files at any instant opens and holds every receipt returned before', BOUND, async (t) => {
  const { aside, send, sql } = await started(t, {}, { san: false });
  const receipts = [];
  let on = true;
  const writers = Array.from({ length: 4 }, async () => {
    while (on) {
      const r = await aside.api('POST', '/conversations', { title: 'x'.repeat(250) });
      assert.equal(r.status, 201, r.text);
      receipts.push(Number(r.json.conversation.id.replace('conv_', '')));
    }
  });
  writers.push((async () => { // Runs begin and end meanwhile
    while (on) {
      const { run } = await send('Hi');
      await aside.until((s) => s.runs.get(run.id)?.state === 'completed', { what: 'it is answered' });
    }
  })());
  await eventually(() => receipts.length > 20, { what: 'writers write' });
  const programs = WRITERS.map((name) => aside.part(name));
  let looking = Promise.resolve();
  const until = Date.now() + COPYING_MS;
  let i = 0;
  for (; i < COPIES && (i < COPIES_LEAST || Date.now() < until); i++) {
    const n = i;
    const dir = path.join(aside.dir, `copy-${n}`);
    await mkdir(dir);
    const before = receipts.length;
    await atOneInstant(programs, async () => {
      for (const k of ORDERS[n % ORDERS.length]) {
        await copyFile(path.join(aside.dataDir, FILES[k]), path.join(dir, FILES[k]));
      }
    });
    await looking; // one is looked at while the next is made
    looking = (async () => {
      const { sound, ids } = await opened(dir);
      assert.equal(sound, 'ok', `copy ${n}`);
      assert.deepEqual(receipts.slice(0, before).filter((id) => !ids.has(id)), [], `copy ${n}`);
      await rm(dir, { recursive: true });
    })();
    looking.catch(() => {});
  }
  await looking;
  on = false;
  await Promise.all(writers);
  await assertSettled(sql);
  assert.deepEqual((await done(aside, 'check', '--json')).findings, []);
  t.diagnostic(`${i} copies, ${receipts.length} receipts`);
});
