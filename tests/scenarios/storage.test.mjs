// storage.test.mjs - what fails below the database: a full disk, one that takes no
// writes, a damaged file, a log that cannot shrink, a folder that is gone, a clock
// that jumps. Each is told by health; nothing is accepted that is not stored; and
// it goes on by itself when the fault has gone.

import assert from 'node:assert/strict';
import { execFile, execFileSync, spawn } from 'node:child_process';
import { mkdir, open, readFile, readdir, rename, rm, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';

import { command, done } from '../support/command.mjs';
import { bin, eventually, startAside, temporaryDir } from '../support/harness.mjs';
import { assertSettled, shelf, started } from '../support/started.mjs';
import { BOUND } from '../support/patience.mjs';

const run = promisify(execFile);

const health = async (aside) => (await aside.api('GET', '/health')).json;
const stored = (aside, word) => eventually(async () => (await health(aside))?.storage === word,
  { what: `storage is ${word}` });

const create = (aside) => aside.api('POST', '/conversations', { title: 'x'.repeat(200) });
const number = (r) => Number(r.json.conversation.id.replace('conv_', ''));

async function overwrite(file, at, bytes) {
  const f = await open(file, 'r+');
  await f.write(Buffer.alloc(bytes, 'z'), 0, bytes, at);
  await f.close();
}

/** A folder whose data/ is a disk of its own; null where that is not allowed. */
async function smallDisk(t, size) {
  const dir = await temporaryDir();
  const data = path.join(dir, 'data');
  await mkdir(data);
  t.after(() => rm(dir, { recursive: true, force: true }));
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${size}`, 'tmpfs', data], { stdio: 'ignore' });
  } catch {
    return null;
  }
  return { dir, data, umount: () => execFileSync('umount', ['-l', data]) };
}

/** Until it is full to the last byte. */
async function fillUp(file) {
  const f = await open(file, 'w');
  try {
    for (let bytes = 65536; bytes >= 1;) {
      await f.write(Buffer.alloc(bytes)).then(({ bytesWritten }) => {
        bytes = bytesWritten < bytes ? bytes >> 1 : bytes;
      }, () => { bytes >>= 1; });
    }
  } finally {
    await f.close();
  }
}

/** What every fault shares: nothing is accepted that is not stored, and it goes on by itself. */
async function throughFault(w, { word, status, code, begin, end }) {
  const { aside, model, send, whole, sql } = w;
  model.next('entry', async (req, reply) => {
    reply.text('Half ');
    await reply.hold('half');
    reply.answer('an answer.');
  });
  const { run: under } = await send('Hello');
  const held = await model.held('half');
  await begin();
  const receipts = [];
  let refused = null;
  for (let i = 0; i < 2000 && !refused; i++) {
    const r = await create(aside);
    if (r.status === 201) {
      receipts.push(number(r));
    } else {
      refused = r;
    }
  }
  assert.deepEqual([refused?.status, refused?.json?.code], [status, code], refused?.text);
  held.release();
  const said = await health(aside);
  assert.deepEqual([said.storage, said.status], [word, 'degraded'], aside.tails(12));
  // What is there is read all the same; what is asked to be stored is refused.
  assert.equal((await aside.api('GET', '/overview')).status, 200);
  const asked = await create(aside);
  if (word === 'full' && asked.status === 201) {
    receipts.push(number(asked)); // it needed less than what was refused had taken of the log
  } else {
    assert.ok(asked.status >= 500, asked.text);
  }
  await end();
  await stored(aside, 'ok');
  assert.equal((await create(aside)).status, 201);
  const all = new Set((await sql('SELECT id FROM conversation')).split('\n').map(Number));
  assert.deepEqual(receipts.filter((id) => !all.has(id)), []);
  const done_ = await whole(under.id);
  assert.equal(done_.run.state, 'completed');
  assert.equal(done_.run.answer.body, 'Half an answer.');
  assert.equal(model.requests.length, 1);
  await assertSettled(sql);
  assert.deepEqual((await done(aside, 'check', '--json')).findings, []);
}

test('a full disk: nothing is accepted that is not stored, and it goes on when there is space', BOUND, async (t) => {
  const disk = await smallDisk(t, '6m');
  if (!disk) {
    t.skip('no disk can be mounted here; the limit of file sizes stands for it below');
    return;
  }
  try {
    const w = await started(t, {}, { dir: disk.dir, responders: 1 });
    const ballast = path.join(disk.data, 'ballast');
    await throughFault(w, { word: 'full', status: 507, code: 'disk_full',
      begin: () => fillUp(ballast), end: () => rm(ballast) });
    await w.aside.stop();
  } finally {
    disk.umount();
  }
});

for (const [word, status, code] of [['full', 507, 'disk_full'], ['read_only', 503, 'storage'], ['failing', 503, 'storage']]) {
  test(`writing that fails (${word}) is told, refused, and goes on by itself`, BOUND, async (t) => {
    const dir = await temporaryDir();
    t.after(() => rm(dir, { recursive: true, force: true }));
    const file = path.join(dir, 'disk');
    const w = await started(t, {}, { env: { ASIDE_FAULT_DISK: file }, responders: 1 });
    await throughFault(w, { word, status, code, begin: () => writeFile(file, word), end: () => rm(file) });
  });
}

test('a log that a stuck reader keeps from shrinking is told, and shrinks when the reader is gone', BOUND, async (t) => {
  const { aside, sql } = await started(t, {}, { responders: 1 });
  const file = path.join(aside.dataDir, 'aside.db');
  const reader = spawn('sqlite3', [file], { stdio: ['pipe', 'pipe', 'inherit'] });
  t.after(() => reader.kill());
  reader.stdin.write('BEGIN; SELECT count(*) FROM conversation;\n');
  await new Promise((resolve) => reader.stdout.once('data', resolve));
  await sql("INSERT INTO sqlar (name, data) VALUES ('large', zeroblob(80000000)); DELETE FROM sqlar");
  await stored(aside, 'log_large');
  assert.equal((await health(aside)).status, 'ok');
  assert.equal((await create(aside)).status, 201);
  reader.stdin.end('COMMIT;\n.quit\n');
  await eventually(async () => {
    assert.equal((await create(aside)).status, 201);
    return (await health(aside)).storage === 'ok';
  }, { what: 'the log is begun anew' });
  assert.ok((await stat(`${file}-wal`)).size <= 64 << 20);
});

test('a damaged database is told, and a backup puts it right', BOUND, async (t) => {
  const { aside, sql } = await started(t, {}, { responders: 1 });
  const copy = path.join(aside.dir, 'copy');
  for (let i = 0; i < 40; i++) {
    assert.equal((await create(aside)).status, 201);
  }
  await done(aside, 'backup', copy);
  await aside.part('asided').stop();
  await aside.part('responder-1').stop();
  const file = path.join(aside.dataDir, 'aside.db');
  const root = Number(await sql("SELECT rootpage FROM sqlite_schema WHERE name = 'conversation'"));
  await overwrite(file, (root - 1) * 4096, 4096);
  for (const name of ['asided', 'responder-1']) {
    aside.launch(name);
  }
  await aside.ready();
  assert.ok((await aside.api('GET', '/overview')).status >= 500);
  await stored(aside, 'damaged');
  const refused = await create(aside);
  assert.deepEqual([refused.status, refused.json.code], [503, 'storage']);
  assert.equal((await command(aside, 'check')).code, 1);
  await aside.part('asided').stop();
  await aside.part('responder-1').stop();
  await done(aside, 'restore', copy);
  for (const name of ['asided', 'responder-1']) {
    aside.launch(name);
  }
  await aside.ready();
  assert.equal((await health(aside)).storage, 'ok');
  assert.equal(await sql('SELECT count(*) FROM conversation'), '41');
});

test('a damaged search index is made anew by the next search', BOUND, async (t) => {
  const { aside, send, whole } = await started(t, {}, { responders: 1 });
  await whole((await send('herring in the sea')).run.id);
  const found = async () => {
    const r = await aside.api('GET', '/search?q=herring');
    return [r.status, r.json.results?.length];
  };
  assert.deepEqual(await found(), [200, 2]);
  const file = path.join(aside.dataDir, 'search.db');
  for (const at of [0, 4096]) {
    await overwrite(file, at, (await stat(file)).size - at);
    assert.deepEqual(await found(), [200, 2], `damaged from byte ${at}`);
  }
  assert.equal((await health(aside)).storage, 'ok');
});

test('a damaged library index is made anew, whoever meets the damage', BOUND, async (t) => {
  const { aside, model, research, whole } = await started(t, {}, { responders: 1, library: await shelf(t) });
  assert.ok((await aside.api('PUT', '/library/files/own.md', '# Cod\n\nCod live in the sea of cod.\n',
    { headers: { 'content-type': 'application/octet-stream' } })).status < 300);
  const read = async () => {
    const r = await aside.api('GET', '/library');
    assert.equal(r.status, 200, r.text);
    const { documents, shared } = r.json;
    return documents.length === 3 && documents.every((d) => d.state === 'indexed') && shared === 2;
  };
  const indexed = (what) => eventually(read, { what });
  await indexed('all is read');
  const file = path.join(aside.dataDir, 'library.db');
  for (const [at, meets] of [[0, 'page'], [4096, 'page'], [0, 'indexer'], [4096, 'indexer'], [4096, 'model']]) {
    const where = `damaged from byte ${at}, met by the ${meets}`;
    await run('sqlite3', ['-cmd', '.timeout 5000', file, 'PRAGMA wal_checkpoint(TRUNCATE)']);
    await overwrite(file, at, (await stat(file)).size - at);
    if (meets === 'indexer') {
      await command(aside, 'index');
    } else if (meets === 'model') {
      let told = '';
      for (let i = 0; i < 2; i++) {
        model.next('research', (req, reply) => reply.call(['library_search', { query: `cod sea ${i}` }]));
      }
      model.next('research', (req, reply) => { told = req.body.messages.at(-2).content; reply.report('Found. [1]'); });
      const { tool_calls: calls } = await whole((await research('Where are cod?')).id);
      assert.equal(calls[1].state, 'done', JSON.stringify(calls));
      assert.ok(calls[0].state === 'done' || /ask once more/.test(calls[0].error), calls[0].error);
      assert.match(told, /Cod live/);
    }
    await indexed(where);
    assert.deepEqual((await done(aside, 'check', '--json')).findings, [], where);
  }
  assert.equal((await health(aside)).storage, 'ok');
});

test('a database whose first page is gone stops the start, and says why', BOUND, async (t) => {
  const { aside } = await started(t, {}, { responders: 1 });
  await aside.part('asided').stop();
  await aside.part('responder-1').stop();
  await overwrite(path.join(aside.dataDir, 'aside.db'), 0, 4096);
  for (const name of ['asided', 'responder-1']) {
    aside.launch(name);
    const part = aside.part(name);
    part.expected = true;
    const exit = await part.ended;
    assert.equal(exit.code, 1);
    assert.match(part.log, /file is not a database/);
  }
});

test('what is overwritten in the log takes what stands behind it, and nothing else', BOUND, async (t) => {
  const { aside, sql } = await started(t, {}, { responders: 1, runtime: false });
  const file = path.join(aside.dataDir, 'aside.db');
  const ids = [];
  for (let i = 0; i < 30; i++) {
    ids.push(number(await create(aside)));
  }
  await aside.kill('responder-1'); // nothing brings the log into the database
  const { size } = await stat(`${file}-wal`);
  await overwrite(`${file}-wal`, size - 20000, 6000);
  await rm(`${file}-shm`);
  aside.launch('responder-1');
  await aside.ready();
  const held = (await sql('SELECT id FROM conversation ORDER BY id')).split('\n').map(Number);
  assert.deepEqual(held, [1, ...ids].slice(0, held.length), 'what is there is what came first');
  assert.ok(held.length > 1 && held.length < 31);
  assert.deepEqual((await done(aside, 'check', '--json')).findings, []);
});

test('a data folder that is gone is told, nothing more is accepted, and comes back with it', BOUND, async (t) => {
  const { aside } = await started(t, {}, { responders: 1, runtime: false });
  const { feed } = await health(aside);
  const part = aside.part('responder-1');
  part.expected = true;
  await rename(aside.dataDir, `${aside.dataDir}-away`);
  const said = await health(aside);
  assert.deepEqual([said.storage, said.status], ['replaced', 'degraded']);
  assert.equal((await create(aside)).status, 503);
  assert.equal((await part.ended).code, 0);
  // Whoever brings it back finds everything.
  await rm(aside.dataDir, { recursive: true, force: true });
  await rename(`${aside.dataDir}-away`, aside.dataDir);
  aside.launch('responder-1');
  await aside.ready();
  assert.equal((await health(aside)).feed, feed);
  assert.equal((await aside.api('GET', '/overview')).json.conversations.length, 1);
});

test('a clock that jumps back and forward changes no order and no budget', BOUND, async (t) => {
  const dir = await temporaryDir();
  t.after(() => rm(dir, { recursive: true, force: true }));
  const file = path.join(dir, 'clock');
  const { aside, model, conv, send, research, whole, sql } = await started(t, {}, { env: { ASIDE_FAULT_CLOCK: file } });
  model.next('research', async (req, reply) => {
    reply.text('I look. ');
    await reply.hold('looking');
    reply.report('Found.');
  });
  const r = await research('the sea');
  const held = await model.held('looking');
  const bodies = ['the sea'];
  for (const [i, ms] of [-86400000, 172800000, -3600000].entries()) {
    await writeFile(file, String(ms));
    bodies.push(`after jump ${i}`);
    const sent = await send(bodies.at(-1));
    assert.equal((await whole(sent.run.id)).run.state, 'completed');
  }
  held.release();
  const end = await whole(r.id);
  assert.equal(end.run.state, 'completed');
  assert.ok(end.run.budget.seconds.used < 60, JSON.stringify(end.run.budget));
  const messages = (await aside.api('GET', `/conversations/${conv}`)).json.messages;
  assert.deepEqual(messages.map((m) => m.body), bodies);
  await assertSettled(sql);
  assert.deepEqual((await done(aside, 'check', '--json')).findings, []);
});

test('without inotify a start ends and says which limit it was', BOUND, async (t) => {
  const { aside } = await started(t, {}, { responders: 1, runtime: false });
  const limited = (program) => run('unshare', ['-Ur', 'sh', '-c',
    'echo 0 > /proc/sys/user/max_inotify_instances && exec "$0"', program], { env: aside.env, timeout: 20000 })
    .then((r) => ({ code: 0, ...r }), (e) => e);
  const r = await limited(bin('asided'));
  if (/unshare|Permission denied|Operation not permitted/.test(r.stderr ?? '')) {
    t.skip('no namespace of users here');
    return;
  }
  assert.equal(r.code, 1, r.stderr);
  assert.match(r.stderr, /doorbell: cannot watch .*fs\.inotify/);
});

test('a limit of inotify that is met while running makes it late, not deaf for good', BOUND, async (t) => {
  const { aside, send, whole } = await started(t, {}, { responders: 1 });
  await aside.part('asided').stop();
  aside.launch('asided', {}, ['unshare', '-Ur']);
  const part = aside.part('asided');
  part.expected = true;
  if (!await Promise.race([part.logged(/running on/).then(() => true, () => false), part.ended.then(() => false)])) {
    t.skip('no namespace of users here');
    return;
  }
  const limit = (n) => run('nsenter', ['-t', String(part.pid), '-U', '--preserve-credentials', 'sh', '-c',
    `echo ${n} > /proc/sys/user/max_inotify_watches`]);
  const watches = async () => {
    const dir = `/proc/${part.pid}/fdinfo`;
    const all = await Promise.all((await readdir(dir)).map((n) => readFile(path.join(dir, n), 'utf8').catch(() => '')));
    return all.join('').match(/^inotify wd/gm)?.length ?? 0;
  };
  assert.equal(await watches(), 1);
  await limit(0);
  await rm(path.join(aside.dataDir, 'doorbell'));
  await part.logged(/doorbell: cannot watch .*fs\.inotify\.max_user_watches/);
  assert.equal(await watches(), 0);
  assert.equal((await whole((await send('Hello')).run.id)).run.state, 'completed');
  await limit(100000);
  await eventually(async () => await watches() === 1, { what: 'it watches again' });
  assert.equal((await whole((await send('Hello again')).run.id)).run.state, 'completed');
});

test('what lies on a disk that takes no writes is looked at and backed up all the same', BOUND, async (t) => {
  const { aside, sql } = await started(t, {}, { responders: 1, runtime: false });
  const frozen = path.join(aside.dir, 'frozen');
  await mkdir(frozen);
  try {
    execFileSync('mount', ['--bind', aside.dataDir, frozen], { stdio: 'ignore' });
  } catch {
    t.skip('nothing can be mounted here');
    return;
  }
  try {
    execFileSync('mount', ['-o', 'remount,ro,bind', frozen]);
    const there = { env: { ...aside.env, ASIDE_DATA: frozen } };
    for (const at of ['beside a responder', 'by itself']) {
      if (at === 'by itself') {
        await aside.part('responder-1').stop();
      }
      const copy = path.join(aside.dir, 'copy');
      assert.equal((await done(there, 'backup', '--json', '--force', copy)).active_runs, 0, at);
      assert.equal((await run('sqlite3', [copy, 'SELECT count(*) FROM conversation'])).stdout.trim(), '1', at);
      assert.deepEqual((await done(there, 'check', '--json')).findings, [], at);
      assert.match((await command(there, 'token', 'add', '-a', 'me', 'x')).err, /takes no writes/, at);
      assert.match((await command(there, 'restore', copy)).err, /Read-only file system/, at);
    }
    assert.equal(await sql("SELECT count(*) FROM audit WHERE action = 'database.backup'"), '0');
  } finally {
    execFileSync('umount', ['-l', frozen]);
  }
});
