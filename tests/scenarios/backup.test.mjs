// backup.test.mjs - `aside backup`, `aside restore` and `aside check`: whole copies
// beside writers, a copy put back, and what is said of data that is not sound.

import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { chown, copyFile, mkdir, open, readFile, readdir, rename, rm, stat, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';

import { command, done } from '../support/command.mjs';
import { bin, eventually, lookForLeaks } from '../support/harness.mjs';
import { assertSettled, started } from '../support/started.mjs';
import { BOUND } from '../support/patience.mjs';

lookForLeaks();

const PARTS = ['asided', 'responder-1', 'responder-2'];

const ask = async (file, text) =>
  (await promisify(execFile)('sqlite3', ['-readonly', file, text])).stdout.trim();

/** Conversations made one after another until stopped; the ids that were answered. */
function writer(aside) {
  const ids = [];
  let on = true;
  const work = (async () => {
    while (on) {
      const r = await aside.api('POST', '/conversations', { title: 'a' });
      assert.equal(r.status, 201, r.text);
      ids.push(Number(r.json.conversation.id.replace('conv_', '')));
    }
  })();
  return { ids, end: async () => { on = false; await work; } };
}

/** So many conversations with long titles. */
async function fill(aside, n) {
  const made = await Promise.all(Array.from({ length: n }, (_, i) =>
    aside.api('POST', '/conversations', { title: `${i} ${'x'.repeat(150)}` })));
  assert.deepEqual(made.filter((r) => r.status !== 201), []);
}

async function overwrite(file, at, text) {
  const f = await open(file, 'r+');
  await f.write(Buffer.from(text), 0, text.length, at);
  await f.close();
}

/** End all that has the database open, in order. */
async function stopParts(aside) {
  for (const name of PARTS) {
    if (aside.part(name).exit === null) {
      await aside.part(name).stop();
    }
  }
}

async function startParts(aside) {
  for (const name of PARTS) {
    aside.launch(name);
  }
  await aside.ready();
}

test('a backup beside writers is one checked file with every receipt that was returned', BOUND, async (t) => {
  const { aside, sql } = await started(t);
  const file = path.join(aside.dir, 'copy');
  const put = await aside.api('PUT', '/library/files/notes/sea.md', '# Sea\n\nHerring.\n',
    { headers: { 'content-type': 'application/octet-stream' } });
  assert.ok(put.status < 300, put.text);
  const writers = [1, 2, 3].map(() => writer(aside));
  await eventually(() => writers[0].ids.length > 5, { what: 'writers write' });
  for (let i = 0; i < 4; i++) {
    const before = writers.flatMap((w) => [...w.ids]);
    const said = await done(aside, 'backup', '--json', '--force', file);
    const after = writers.flatMap((w) => [...w.ids]);
    const held = new Set((await ask(file, 'SELECT id FROM conversation')).split('\n').map(Number));
    assert.deepEqual(before.filter((id) => !held.has(id)), [], 'every receipt is in the copy');
    assert.ok(after.length > before.length, 'writers went on');
    assert.equal(await ask(file, 'PRAGMA integrity_check'), 'ok');
    assert.equal(said.as_of, Number(await ask(file, "SELECT seq FROM sqlite_sequence WHERE name = 'change'")));
    assert.equal(said.library_files, 1);
  }
  await Promise.all(writers.map((w) => w.end()));
  assert.equal((await stat(file)).mode & 0o777, 0o600);
  // Whoever else has an account here reads nothing, however open the folder is.
  await aside.api('GET', '/search?q=x');
  for (const name of await readdir(aside.dataDir)) {
    assert.equal((await stat(path.join(aside.dataDir, name))).mode & 0o077, 0, name);
  }
  assert.equal(await ask(file, 'SELECT name, CAST(data AS TEXT) FROM sqlar'),
    'library/me/notes/sea.md|# Sea\n\nHerring.');
  // It is one file: nothing lies beside it, and a name that is taken stays as it is.
  assert.deepEqual((await readdir(aside.dir)).filter((name) => name.startsWith('copy')), ['copy']);
  const { mtimeMs } = await stat(file);
  const refused = await command(aside, 'backup', file);
  assert.equal(refused.code, 1);
  assert.match(refused.err, /--force replaces it/);
  assert.equal((await stat(file)).mtimeMs, mtimeMs);
  assert.equal(await sql("SELECT count(*) FROM audit WHERE action = 'database.backup' AND actor = 'command'"), '4');
});

test('a backup is refused where it cannot be whole, and leaves nothing', BOUND, async (t) => {
  const { aside, sql } = await started(t, {}, { runtime: false });
  const nowhere = path.join(aside.dir, 'no', 'copy');
  assert.equal((await command(aside, 'backup', nowhere)).code, 1);
  assert.equal((await command(aside, 'backup')).code, 2);
  // No room for it: the limit stands for a full disk.
  const small = path.join(aside.dir, 'small');
  const r = await promisify(execFile)('prlimit', ['--fsize=50000', '--',
    path.join(process.cwd(), 'build/san/aside'), 'backup', small], { env: aside.env })
    .then(() => ({ code: 0 }), (e) => e);
  assert.equal(r.code, 1, r.stderr);
  assert.deepEqual((await readdir(aside.dir)).filter((name) => name.startsWith('small')), []);
  // Not in the place of what is at work, nor of what is no file, whoever says --force.
  const link = path.join(aside.dir, 'link');
  await symlink(path.join(aside.dir, 'elsewhere'), link);
  const pipe = path.join(aside.dir, 'pipe');
  await promisify(execFile)('mkfifo', [pipe]);
  const feed = await sql('SELECT feed FROM fact');
  const names = (await readdir(aside.dataDir)).sort();
  for (const [at, why] of [['aside.db', /the data's own folder/], ['asided.lock', /own folder/], ['new', /own folder/],
    ['../link', /no file/], ['../pipe', /no file/], ['../data/./x', /own folder/]]) {
    const refused = await command(aside, 'backup', '--force', path.join(aside.dataDir, at));
    assert.equal(refused.code, 1, at);
    assert.match(refused.err, why, at);
  }
  assert.deepEqual((await readdir(aside.dataDir)).sort(), names);
  assert.equal(await sql('SELECT feed FROM fact'), feed);
  assert.equal((await aside.api('POST', '/conversations', {})).status, 201);
  // What one that was killed has left goes with the next of that name; not what is being made.
  const file = path.join(aside.dir, 'copy');
  await writeFile(`${file}.1.part`, 'left');
  await writeFile(`${file}.2.part`, 'at work');
  await writeFile(`${file}.x.part`, 'a person has it');
  const maker = spawn('flock', [`${file}.2.part`, '-c', 'echo; read x'], { stdio: ['pipe', 'pipe', 'inherit'] });
  t.after(() => maker.kill());
  await new Promise((resolve) => maker.stdout.once('data', resolve));
  await Promise.all([1, 2].map(() => command(aside, 'backup', '--force', file)));
  maker.stdin.end();
  assert.deepEqual((await readdir(aside.dir)).filter((name) => name.startsWith('copy')).sort(),
    ['copy', 'copy.2.part', 'copy.x.part']);
  assert.equal(await ask(file, 'PRAGMA integrity_check'), 'ok');
});

test('a restore waits for nobody: it is refused while a runtime or a responder is there', BOUND, async (t) => {
  const { aside } = await started(t);
  const file = path.join(aside.dir, 'copy');
  await done(aside, 'backup', file);
  for (const name of PARTS) {
    const r = await command(aside, 'restore', file);
    assert.equal(r.code, 1);
    assert.match(r.err, name === 'asided' ? /a runtime is at work/ : /a responder or another program/);
    await aside.part(name).stop();
  }
  const indexer = spawn('flock', [path.join(aside.dataDir, 'library.lock'), '-c', 'echo; read x'],
    { stdio: ['pipe', 'pipe', 'inherit'] });
  t.after(() => indexer.kill());
  await new Promise((resolve) => indexer.stdout.once('data', resolve));
  assert.match((await command(aside, 'restore', file)).err, /is being indexed/);
  indexer.stdin.end();
  await new Promise((resolve) => indexer.once('exit', resolve));
  assert.deepEqual((await readdir(aside.dataDir)).filter((n) => /restor|before/.test(n)), []);
  // Of two at once one is refused, or they come one after the other.
  const two = await Promise.all([1, 2].map(() => command(aside, 'restore', file)));
  assert.ok(two.some((r) => r.code === 0), two[0].err + two[1].err);
  for (const r of two.filter((x) => x.code !== 0)) {
    assert.match(r.err, /at work|being indexed|has it open/);
  }
  // One that is starting meanwhile opens what is restored, never what was there.
  const starting = startParts(aside);
  await command(aside, 'restore', file);
  await starting;
  assert.equal((await aside.api('GET', '/health')).json.storage, 'ok');
  assert.equal((await aside.api('POST', '/conversations', {})).status, 201);
});

/** `aside restore` with a fault; how it ended: -1, killed. */
async function restoreWith(aside, file, fault) {
  const r = await promisify(execFile)(bin('aside'), ['restore', '--json', file],
    { env: { ...aside.env, ASIDE_FAULT_EXCHANGE: fault } }).catch((e) => e);
  return { code: r.signal ? -1 : r.code ?? 0, err: r.stderr };
}

test('a restore that is killed or fails at any step: all, nothing, or no start until it is done again', BOUND, async (t) => {
  const { aside, sql } = await started(t, {}, { runtime: false, responders: 1 });
  const file = path.join(aside.dir, 'copy');
  const put = (name, text) => aside.api('PUT', `/library/files/${name}`, text,
    { headers: { 'content-type': 'application/octet-stream' } });
  assert.ok((await put('a.md', 'then')).status < 300);
  await done(aside, 'backup', file);
  assert.ok((await put('a.md', 'now')).status < 300);
  await aside.api('GET', '/search?q=x');
  await aside.part('responder-1').stop();
  await done(aside, 'index');
  const what = async () => [await readFile(path.join(aside.dataDir, 'library/me/a.md'), 'utf8').catch(() => null),
    await sql("SELECT count(*) FROM audit WHERE action = 'library.add'")];
  const THEN = ['then', '1'];
  const NOW = ['now', '2'];
  assert.deepEqual(await what(), NOW);
  const kept = () => readdir(aside.dataDir).then((list) => list.filter((n) => n.startsWith('before-')));
  let through = 0;
  // From the 4th to the 8th step it moves what is made of other things, each like the one before.
  for (let n = 1; through < 2; n += n === 3 ? 6 : 1) {
    for (const kind of n % 3 === 0 || n > 11 ? ['fail', 'kill'] : ['kill']) {
      const before = (await kept()).length;
      const r = await restoreWith(aside, file, `${kind}:${n}`);
      const open = (await readdir(aside.dataDir)).includes('restore.unfinished');
      if (r.code === 0) {
        through++;
        assert.deepEqual(await what(), THEN);
      } else if (!open) {
        assert.equal(kind, 'fail', `${kind}:${n}`);
        assert.deepEqual(await what(), NOW, `${kind}:${n}: ${r.err}`);
        assert.equal((await kept()).length, before, `${kind}:${n}`);
        continue;
      } else {
        // Nobody starts on half of it, and looking says why.
        if (n === 3) {
          assert.match((await command(aside, 'status')).err, /a restore was cut short/);
          assert.match((await command(aside, 'check')).out, /a restore was cut short/);
          aside.launch('responder-1');
          aside.part('responder-1').expected = true;
          assert.equal((await aside.part('responder-1').ended).code, 1);
        }
        // What was there is in what is kept, or still in its place.
        const old = [aside.dataDir, ...(await kept()).map((k) => path.join(aside.dataDir, k))];
        const texts = await Promise.all(old.map((d) => readFile(path.join(d, 'library/me/a.md'), 'utf8').catch(() => '')));
        assert.ok(texts.includes('now'), `${kind}:${n}`);
        await done(aside, 'restore', file);
        assert.deepEqual(await what(), THEN, `${kind}:${n}`);
      }
      assert.deepEqual((await readdir(aside.dataDir)).filter((name) => /restor/.test(name)), []);
      // Back to how it was.
      for (const k of await kept()) {
        await rm(path.join(aside.dataDir, k), { recursive: true });
      }
      await writeFile(path.join(aside.dataDir, 'library/me/a.md'), 'now');
      await sql("INSERT INTO audit SELECT NULL, at_ms, account_id, actor, actor_id, address, action, subject, outcome, detail FROM audit WHERE action = 'library.add'");
    }
    assert.ok(n < 40);
  }
  assert.deepEqual((await done(aside, 'check', '--json')).findings.filter((f) => f.where === 'aside.db'), []);
});

test('a restored database goes on from its rows under a new feed, and what was there is kept', BOUND, async (t) => {
  const { model, aside, conv, send, research, run, whole, sql } = await started(t, { 'background.limit': 2 });
  const file = path.join(aside.dir, 'copy');
  const put = (name, text) => aside.api('PUT', `/library/files/${name}`, text,
    { headers: { 'content-type': 'application/octet-stream' } });
  assert.ok((await put('kept.md', '# Kept\n\nHerring.\n')).status < 300);
  model.next('research', async (req, reply) => {
    await reply.hold('first');
  });
  const going = (await research('the sea')).id;
  const held = await model.held('first');
  const old = (await aside.api('GET', '/overview')).json;
  await sql('INSERT INTO token (account_id, name, scope, hash, created_ms, expires_ms, last_used_ms) ' +
    "VALUES (1, 'laptop', 'admin', zeroblob(32), 1, 9999999999999, 0), (1, 'lost', 'admin', randomblob(32), 1, 9999999999999, 0)");
  await done(aside, 'account', 'add', 'other');
  const token = (await done(aside, 'token', 'add', '--json', '-a', 'other', 'theirs'));
  assert.ok(token);
  await sql('INSERT INTO session (account_id, token_id, hash, created_ms, expires_ms, seen_ms, agent, address) ' +
    "VALUES (1, 1, zeroblob(32), 1, 9999999999999, 1, '', '')");
  await done(aside, 'backup', file);
  await sql("UPDATE token SET revoked_ms = 2 WHERE name = 'lost'");
  await done(aside, 'account', 'delete', 'other');
  // What came after it is in the data that is kept, not in the restored.
  const later = await send('Later');
  await whole(later.run.id);
  assert.ok((await put('later.md', '# Later\n\nCod.\n')).status < 300);
  await aside.kill('asided');
  await stopParts(aside);
  held.release();
  const said = await done(aside, 'restore', '--json', file);
  assert.equal(said.active_runs, 1);
  assert.equal(said.library_files, 1);
  assert.notEqual(said.feed, old.feed);
  assert.equal(await ask(path.join(said.kept, 'aside.db'), "SELECT count(*) FROM message WHERE body = 'Later'"), '1');
  assert.deepEqual((await readdir(path.join(said.kept, 'library/me'))).filter((n) => n[0] !== '.').sort(), ['kept.md', 'later.md']);
  assert.deepEqual((await readdir(aside.dataDir)).filter((n) => /restoring|-wal/.test(n)), []);
  assert.equal(await sql('SELECT count(*) FROM sqlar'), '0');
  // Who was shut out since stays shut out; what was deleted since is there again, and named.
  assert.equal(await sql('SELECT count(*) FROM session'), '0');
  assert.equal(await sql('SELECT group_concat(name) FROM token WHERE revoked_ms IS NULL'), 'laptop');
  assert.deepEqual([said.tokens_kept_out, said.accounts_back], [2, 'other']);
  await startParts(aside);
  const now = (await aside.api('GET', '/overview')).json;
  assert.equal(now.feed, said.feed);
  const changes = (await aside.api('GET', `/changes?after=${now.as_of}&wait=0`)).json;
  assert.equal(changes.feed, said.feed);
  // Late messages are gone, earlier ones there; the Run is picked up, what was sent is unknown.
  const messages = (await aside.api('GET', `/conversations/${conv}`)).json.messages.map((m) => m.body);
  assert.deepEqual(messages, ['the sea']);
  await eventually(async () => (await run(going)).run.ended_at !== null, { what: 'the Run went on and ended' });
  const end = await run(going);
  assert.deepEqual(end.requests.map((q) => q.state).slice(0, 2), ['unknown', 'done']);
  const log = await done(aside, 'audit', '--json');
  assert.equal(log.audit.filter((l) => l.action === 'database.restore').length, 1);
  const names = (await aside.api('GET', '/library')).json.documents.map((d) => d.name);
  assert.deepEqual(names, ['kept.md']);
  await assertSettled(sql);
  assert.deepEqual((await done(aside, 'check', '--json')).findings, []);
});

test('what is no sound backup is refused before anything is touched', BOUND, async (t) => {
  const { aside, sql } = await started(t, {}, { runtime: false });
  const file = path.join(aside.dir, 'copy');
  await fill(aside, 200);
  await done(aside, 'backup', file);
  await aside.part('responder-1').stop();
  await aside.part('responder-2').stop();
  const before = await sql('SELECT feed FROM fact');
  const bad = path.join(aside.dir, 'bad');
  const cases = [
    ['no such file', async () => rm(bad, { force: true })],
    ['it is no backup of Aside', async () => writeFile(bad, 'text '.repeat(1000))],
    ['it is no backup of Aside', async () => { await rm(bad); await promisify(execFile)('sqlite3', [bad, 'CREATE TABLE x (y)']); }],
    ['newer Aside', async () => { await copyFile(file, bad); await promisify(execFile)('sqlite3', [bad, 'PRAGMA user_version = 999']); }],
    ['it is no file', async () => { await rm(bad); await promisify(execFile)('mkfifo', [bad]); }],
    ['a log beside it', async () => { await rm(bad); await copyFile(file, bad); await writeFile(`${bad}-wal`, 'x'); }],
    ['damaged', async () => { await rm(`${bad}-wal`); await copyFile(file, bad); await overwrite(bad, 4096 * 3, 'z'.repeat(4096 * 4)); }],
    ['damaged', async () => { await copyFile(file, bad); const f = await open(bad, 'r+'); await f.truncate(4096 * 5); await f.close(); }],
  ];
  for (const [why, make] of cases) {
    await make();
    const r = await command(aside, 'restore', bad);
    assert.equal(r.code, 1);
    assert.match(r.err, new RegExp(why));
    assert.equal(await sql('SELECT feed FROM fact'), before);
    assert.deepEqual((await readdir(aside.dataDir)).filter((n) => /restoring|before/.test(n)), []);
  }
  // Onto nothing: a machine that has only the backup.
  await rm(aside.dataDir, { recursive: true });
  const said = await done(aside, 'restore', '--json', file);
  assert.equal(said.tokens_kept_out, null);
  assert.equal(await sql('SELECT count(*) FROM conversation'), '201');
  // As root it is given to whose the folder is; where the file is a link it is refused.
  if (process.getuid() === 0) {
    await chown(aside.dataDir, 65534, 65534);
    const { kept } = await done(aside, 'restore', '--json', file);
    for (const name of [kept, ...['aside.db', 'asided.lock', 'library.lock'].map((n) => path.join(aside.dataDir, n))]) {
      assert.equal((await stat(name)).uid, 65534, name);
    }
    await chown(aside.dataDir, 0, 0);
  }
  const real = path.join(aside.dir, 'real.db');
  await rename(path.join(aside.dataDir, 'aside.db'), real);
  await symlink(real, path.join(aside.dataDir, 'aside.db'));
  assert.match((await command(aside, 'restore', file)).err, /it is a link/);
  await rm(path.join(aside.dataDir, 'aside.db'));
  // And one that an older Aside has made.
  const folder = path.join(process.cwd(), 'sql/schema');
  const schemas = (await readdir(folder)).filter((n) => /^00(0|1[0-4])/.test(n)).sort();
  await rm(bad);
  await promisify(execFile)('sqlite3', [bad, `\n${(await Promise.all(schemas.map((n) => readFile(path.join(folder, n), 'utf8')))).join(';\n')};
    INSERT INTO account (name, created_ms) VALUES ('old', 1);
    INSERT INTO conversation (account_id, title, created_ms, updated_ms) VALUES (1, 'old', 1, 1);
    INSERT INTO sqlar VALUES ('library/old/a.md', 33152, 1, 4, 'then'); PRAGMA user_version = ${schemas.length}`]);
  await done(aside, 'restore', bad);
  assert.equal(await sql('SELECT group_concat(title) FROM conversation'), 'old');
  assert.equal(await readFile(path.join(aside.dataDir, 'library/old/a.md'), 'utf8'), 'then');
  assert.deepEqual((await done(aside, 'check', '--json')).findings, []);
});

// What must not be, and what the check says of it.
const BROKEN = [
  ['have ended and still hold a place', "INSERT INTO slot SELECT account_id, 'short', 7, id FROM run WHERE kind = 'short' LIMIT 1",
    'DELETE FROM slot WHERE n = 7'],
  ['are open, though their Runs', "UPDATE handoff SET state = 'received', handed_ms = NULL",
    "UPDATE handoff SET state = 'handed', handed_ms = 1"],
  ['are planned, though their Runs', "UPDATE request SET state = 'planned' WHERE id = 1",
    "UPDATE request SET state = 'done' WHERE id = 1"],
  ['are under way, though their Runs', "UPDATE request SET state = 'sent' WHERE id = 1; UPDATE run SET ended_ms = ended_ms - 4000000",
    "UPDATE request SET state = 'done' WHERE id = 1"],
  ['are at work without a place', "UPDATE run SET ended_ms = NULL, state = 'running', reason = NULL WHERE kind = 'short'",
    "UPDATE run SET ended_ms = 1, state = 'completed' WHERE kind = 'short'"],
  ['have answers with holes', "UPDATE change SET part = part + 1 WHERE kind = 'answer.part'",
    "UPDATE change SET part = part - 1 WHERE kind = 'answer.part'"],
  ['not what was streamed', "UPDATE answer SET body = body || '!'",
    "UPDATE answer SET body = rtrim(body, '!')"],
  ['more than their budget', 'UPDATE run SET requests_used = requests_limit + 1 WHERE id = 1',
    'UPDATE run SET requests_used = 1 WHERE id = 1'],
  ['ended and was not told', 'DELETE FROM notification', null],
  ['neither started a Run', "INSERT INTO message (conversation_id, body, created_ms) VALUES (1, 'x', 1)", "DELETE FROM message WHERE body = 'x'"],
  ['refers to a row of', 'PRAGMA foreign_keys = OFF; DELETE FROM message', null],
];

test('the check names what is wrong between rows, beside processes at work', BOUND, async (t) => {
  const { model, aside, research, send, say, whole, sql } = await started(t);
  model.next('research', async (req, reply) => {
    reply.text('I look. ');
    await reply.hold('looking');
    reply.report('Found.');
  });
  const id = (await research('the sea')).id;
  const held = await model.held('looking');
  await say(id, 'and the tides');
  held.release();
  await whole(id);
  await whole((await send('Hi')).run.id);
  await assertSettled(sql);
  const sound = await command(aside, 'check');
  assert.deepEqual([sound.code, sound.err], [0, ''], sound.out);
  assert.match(sound.out, /nothing is wrong/);
  await stopParts(aside);
  await sql('DROP TRIGGER audit_request');
  for (const [says, breaks, mends] of BROKEN) {
    await sql(breaks);
    const r = await command(aside, 'check', '--json');
    assert.equal(r.code, 1, `${says}: ${r.out}`);
    assert.equal(r.json.ok, false);
    const found = r.json.findings.find((f) => f.what.includes(says));
    assert.ok(found, `${says}: ${r.out}`);
    assert.equal(found.where, 'aside.db');
    assert.ok(found.todo.length > 10);
    if (mends) {
      await sql(mends);
      assert.ok(!(await command(aside, 'check')).out.includes(says), says);
    }
  }
});

test('the check names a damaged file, and what to do about each', BOUND, async (t) => {
  const { aside } = await started(t);
  await fill(aside, 60);
  assert.ok((await aside.api('PUT', '/library/files/sea.md', '# Sea\n\nHerring.\n',
    { headers: { 'content-type': 'application/octet-stream' } })).status < 300);
  await eventually(async () => {
    const { indexing, documents } = (await aside.api('GET', '/library')).json;
    return !indexing && documents[0]?.state === 'indexed';
  }, { what: 'it is read' });
  assert.equal((await aside.api('GET', '/search?q=x')).status, 200);
  await stopParts(aside);
  assert.deepEqual((await done(aside, 'check', '--json')).findings, []);
  // A file of the library that its index does not know, and one that is gone.
  const shelf = path.join(aside.dataDir, 'library/me');
  await rm(path.join(shelf, 'sea.md'));
  await mkdir(path.join(shelf, 'new'), { recursive: true });
  await writeFile(path.join(shelf, 'new/cod.md'), '# Cod\n');
  const files = await command(aside, 'check', '--json');
  assert.deepEqual(files.json.findings.map((f) => [f.where, f.what, f.todo]), [
    ['library.db', 'library/me/new/cod.md is not in it', 'run `aside index`'],
    ['library.db', 'library/me/sea.md is in it, and no file', 'run `aside index`'],
  ]);
  await done(aside, 'index');
  assert.deepEqual((await done(aside, 'check', '--json')).findings, []);
  for (const name of ['search.db', 'library.db', 'aside.db']) {
    const file = path.join(aside.dataDir, name);
    const { size } = await stat(file);
    await overwrite(file, 4096 * 2, 'z'.repeat(Math.min(size - 4096 * 2, 4096 * 40)));
    const r = await command(aside, 'check', '--json');
    assert.equal(r.code, 1, name);
    const found = r.json.findings.find((f) => f.where === name);
    assert.ok(found, `${name}: ${r.out}`);
    assert.match(found.todo, name === 'aside.db' ? /aside restore/ : /remove the file/);
  }
});
