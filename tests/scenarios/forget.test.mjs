// forget.test.mjs - what is removed as a whole: conversations that are older or more
// than is to be kept, and accounts, of which no word stays in any file.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdir, open, readFile, readdir, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';

import { command, done } from '../support/command.mjs';
import { eventually, temporaryDir } from '../support/harness.mjs';
import { assertSettled, started } from '../support/started.mjs';
import { BOUND } from '../support/patience.mjs';

/** Start the runtime anew with these settings, and wait until so many conversations are left. */
async function keepOnly(aside, variables, sql, left) {
  await aside.part('asided').stop();
  aside.launch('asided', variables);
  await aside.part('asided').logged(/running on/);
  await eventually(async () => {
    const n = Number(await sql('SELECT count(*) FROM conversation'));
    assert.equal(n, left, aside.part('asided').tail(5));
    return true;
  }, { what: `${left} conversations are left` });
}

test('retention removes the oldest, by age and by number, and never what is at work', BOUND, async (t) => {
  const { aside, model, conv, research, whole, sql } = await started(t);
  const made = async () => (await aside.api('POST', '/conversations', {})).json.conversation.id;
  // The first one is the oldest, and at work.
  let free = false;
  model.on('research', async (req, reply) => {
    if (!free) {
      await reply.hold('looking');
    }
    reply.report('Found.');
  });
  const { id } = await research('the sea');
  await model.held('looking');
  const ids = [];
  for (let i = 0; i < 30; i++) {
    ids.push(await made());
  }
  const day = 86400000;
  await sql(`UPDATE conversation SET updated_ms = updated_ms - ${day} * (100 - id)`);
  const before = (await aside.api('GET', '/overview')).json;
  // 31 conversations; the newest are 69 days old: by default nothing goes.
  await keepOnly(aside, {}, sql, 31);
  // Nor by a clock that may be wrong: as it is at a start, and when it was set.
  const clock = path.join(aside.dir, 'clock');
  await keepOnly(aside, { ASIDE_RETENTION_DAYS: '30' }, sql, 31);
  await aside.part('asided').logged(/nothing is removed by its age until/);
  await writeFile(clock, String(3650 * day));
  await keepOnly(aside, { ASIDE_RETENTION_DAYS: '3000', ASIDE_FAULT_CLOCK: clock }, sql, 31);
  await aside.part('asided').logged(/nothing is removed by its age until/);
  assert.equal(await sql('SELECT count(*) FROM conversation'), '31');
  const STEADY = { ASIDE_FAULT_STEADY: '1' };
  await keepOnly(aside, { ASIDE_RETENTION_DAYS: '80', ...STEADY }, sql, 12);
  assert.deepEqual((await sql('SELECT id FROM conversation ORDER BY id')).split('\n').map(Number),
    [1, ...Array.from({ length: 11 }, (_, i) => 21 + i)]);
  assert.equal((await aside.api('GET', `/runs/${id}`)).json.run.ended_at, null);
  // Pages are told as if a person had done it, and the log says who did.
  const { changes } = (await aside.api('GET', `/changes?after=${before.as_of}&wait=0`)).json;
  const gone = changes.filter((c) => c.kind === 'conversation.deleted').map((c) => c.conversation_id);
  assert.deepEqual(gone.sort(), ids.slice(0, 19).sort());
  assert.equal(await sql("SELECT count(*) FROM audit WHERE action = 'retention' AND actor = 'runtime'"), '19');
  await keepOnly(aside, { ASIDE_RETENTION_CONVERSATIONS: '5' }, sql, 6);
  assert.equal((await aside.api('GET', `/conversations/${conv}`)).status, 200);
  free = true;
  model.holds.forEach((held) => held.release());
  await whole(id);
  await assertSettled(sql);
  // What it came to was told just now, however old the question is.
  await keepOnly(aside, { ASIDE_RETENTION_CONVERSATIONS: '5', ASIDE_RETENTION_DAYS: '80', ...STEADY }, sql, 5);
  assert.equal((await aside.api('GET', `/conversations/${conv}`)).status, 200);
  // The audit log, by its age; what is younger not even by hand.
  await sql(`INSERT INTO audit SELECT NULL, at_ms - ${day} * 40, account_id, actor, actor_id, address, action, subject, outcome, detail
    FROM audit, (WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 30) SELECT i FROM n) WHERE id < 100`);
  const young = await sql(`SELECT count(*) FROM audit WHERE at_ms > ${Date.now() - 35 * day}`);
  const old = Number(await sql(`SELECT count(*) FROM audit WHERE at_ms < ${Date.now() - 35 * day}`));
  assert.ok(old > 500);
  await keepOnly(aside, { ASIDE_AUDIT_DAYS: '35', ...STEADY }, sql, 5);
  await eventually(async () => await sql(`SELECT count(*) FROM audit WHERE at_ms < ${Date.now() - 35 * day}`) === '0',
    { what: 'old lines are gone' });
  assert.equal(await sql("SELECT sum(detail) FROM audit WHERE action = 'audit.prune' AND actor = 'runtime'"), String(old));
  assert.equal(await sql("SELECT count(*) FROM audit WHERE action <> 'audit.prune'"), young);
  await assert.rejects(sql('DELETE FROM audit'), /only added to/);
  assert.deepEqual((await done(aside, 'check', '--json')).findings, []);
});

/** Every file below a folder, as [name, lower-case bytes]. */
async function bytesOf(dir) {
  const found = [];
  for (const entry of await readdir(dir, { withFileTypes: true })) {
    const at = path.join(dir, entry.name);
    if (entry.isDirectory()) {
      found.push([entry.name, entry.name.toLowerCase()], ...await bytesOf(at));
    } else {
      found.push([entry.name, entry.name.toLowerCase() + (await readFile(at)).toString('latin1').toLowerCase()]);
    }
  }
  return found;
}

test('an account that is deleted leaves no word in any file, beside processes at work', BOUND, async (t) => {
  const shared = await temporaryDir();
  t.after(() => rm(shared, { recursive: true, force: true }));
  await writeFile(path.join(shared, 'tides.md'), '# Tides\n\nThe moon pulls the sea.\n');
  const { aside, model, send, research, say, whole, sql } = await started(t, {}, { library: shared });
  const words = ['qworv', 'zjaxil', 'vumqek', 'xoblyt', 'jifquan', 'wyzdrop', 'kuvzahn', 'brixqol', 'yunvexo'];
  const [message, answer, report, tool, adjust, title, file, name, lead] = words;
  const byHand = 'glorvexen';
  model.next('entry', (req, reply) => reply.answer(`It is ${answer}. `.repeat(400)));
  await whole((await send(`Tell ${message} `.repeat(300))).run.id);
  model.next('research', (req, reply) => reply.call(['library_search', { query: `moon ${tool}` }], ['note', { text: lead }], [`${lead}_look`, {}]));
  model.next('research', async (req, reply) => {
    reply.text('I look. ');
    await reply.hold('looking');
    reply.report('Too late.');
  });
  model.next('research', (req, reply) => reply.report(`Found ${report}. `.repeat(300)));
  const { id } = await research(`Look ${message}`);
  const held = await model.held('looking');
  const active = await command(aside, 'account', 'delete', 'me');
  assert.equal(active.code, 1);
  assert.match(active.err, /a Run is active/);
  await say(id, `And ${adjust}`);
  held.release();
  await whole(id);
  await assertSettled(sql);
  const other = (await aside.api('POST', '/conversations', { title: `About ${title}` })).json.conversation.id;
  const put = await aside.api('PUT', `/library/files/${name}/a.md`, `# ${file}\n\n${`Much ${file} here. `.repeat(200)}\n`,
    { headers: { 'content-type': 'application/octet-stream' } });
  assert.ok(put.status < 300, put.text);
  await eventually(async () => {
    const { indexing, documents } = (await aside.api('GET', '/library')).json;
    return !indexing && documents[0]?.state === 'indexed';
  }, { what: 'it is read' });
  assert.ok((await aside.api('GET', `/search?q=${message}`)).json.results.length > 0);
  // What is deleted by hand is overwritten, in the file and in the index that is made anew.
  const once = (await aside.api('POST', '/conversations', {})).json.conversation.id;
  const said = await aside.api('POST', `/conversations/${once}/messages`, { body: `Once ${byHand} `.repeat(800) });
  await whole(said.json.run.id);
  assert.ok((await aside.api('GET', `/search?q=${byHand}`)).json.results.length > 0);
  const holding = async () => {
    for (const file of ['aside.db', 'search.db']) {
      await promisify(execFile)('sqlite3', ['-cmd', '.timeout 5000', path.join(aside.dataDir, file), 'PRAGMA wal_checkpoint(TRUNCATE)']);
    }
    return (await bytesOf(aside.dataDir)).filter(([, bytes]) => bytes.includes(byHand)).map(([n]) => n);
  };
  assert.deepEqual((await holding()).sort(), ['aside.db', 'search.db']);
  assert.equal((await aside.api('DELETE', `/conversations/${once}`)).status, 200);
  assert.deepEqual((await aside.api('GET', `/search?q=${byHand}`)).json.results, []);
  await eventually(async () => (await holding()).length === 0, { what: 'it is in no file' });
  assert.equal((await aside.api('DELETE', `/conversations/${other}`)).status, 200);
  // Another account's things stay.
  const kept = path.join(shared, '..', `${path.basename(shared)}-kept.md`);
  await writeFile(kept, '# Kept\n\nHerring of another.\n');
  t.after(() => rm(kept, { force: true }));
  await done(aside, 'library', 'add', '-a', 'other', kept);
  const before = await bytesOf(aside.dataDir);
  for (const word of words.filter((w) => w !== title)) {
    assert.ok(before.some(([, bytes]) => bytes.includes(word)), `${word} is somewhere`);
  }
  // Also in what a killed restore has left, and where an index is damaged.
  await mkdir(path.join(aside.dataDir, 'restoring'));
  await writeFile(path.join(aside.dataDir, 'restoring', 'aside.db'), message);
  const index = path.join(aside.dataDir, 'search.db');
  await promisify(execFile)('sqlite3', ['-cmd', '.timeout 5000', index, 'PRAGMA wal_checkpoint(TRUNCATE)']);
  const f = await open(index, 'r+');
  await f.write(message.repeat(500), 4096);
  await f.close();
  const shown = (await aside.api('GET', '/overview')).json.as_of;
  assert.equal((await done(aside, 'account', 'delete', '--json', 'me')).deleted, 'me');
  // A page that is open drops what it shows, once.
  const poll = async (after) => (await aside.api('GET', `/changes?after=${after}&wait=0`)).json;
  assert.equal((await poll(shown)).reset, true);
  assert.equal((await poll((await aside.api('GET', '/overview')).json.as_of)).reset, false);
  const after = await bytesOf(aside.dataDir);
  for (const word of words) {
    assert.deepEqual(after.filter(([, bytes]) => bytes.includes(word)).map(([n]) => n), [], `${word} is nowhere`);
  }
  assert.ok(after.some(([, bytes]) => bytes.includes('herring of another')));
  assert.equal(await sql("SELECT group_concat(name) FROM account"), 'other');
  assert.equal(await sql("SELECT count(*) FROM audit WHERE action = 'account.delete' AND actor = 'command'"), '1');
  assert.deepEqual((await done(aside, 'check', '--json')).findings, []);
  assert.equal((await command(aside, 'account', 'delete', 'me')).code, 1);
  // Whoever comes by that name begins anew.
  assert.deepEqual((await aside.api('GET', '/overview')).json.conversations, []);
  assert.equal((await aside.api('POST', '/conversations', {})).status, 201);
  assert.deepEqual((await aside.api('GET', `/search?q=${message}`)).json.results, []);
});

test('what is deleted while something of it is still under way takes nobody down', BOUND, async (t) => {
  const { aside, model, conv, stop, whole, sql } = await started(t, { 'background.limit': 2 });
  const asided = aside.part('asided');
  model.on('research', async (req, reply) => {
    reply.text('I look. ');
    await reply.hold(`looking ${model.holds.length}`);
    reply.report('Found.');
  });
  for (const door of ['conversation', 'account']) {
    const at = model.holds.length;
    const place = door === 'conversation' ? conv
      : (await aside.api('POST', '/conversations', {})).json.conversation.id;
    const r = (await aside.api('POST', `/conversations/${place}/messages`,
      { body: `the sea by ${door}`, mode: 'background' })).json.run;
    await model.held(`looking ${at}`);
    // The runtime finds out about both at once: it was stopped, and it is gone.
    asided.signal('SIGSTOP');
    await stop(r.id);
    if (door === 'conversation') {
      assert.equal((await aside.api('DELETE', `/conversations/${conv}`)).status, 200);
    } else {
      await done(aside, 'account', 'delete', 'me');
    }
    asided.signal('SIGCONT');
    model.holds.forEach((held) => held.release());
    const made = (await aside.api('POST', '/conversations', {})).json.conversation.id;
    const sent = await aside.api('POST', `/conversations/${made}/messages`, { body: 'Hello' });
    assert.equal(sent.status, 202, sent.text);
    assert.equal((await whole(sent.json.run.id)).run.state, 'completed');
    await assertSettled(sql);
    assert.equal(asided.exit, null);
  }
  assert.deepEqual((await done(aside, 'check', '--json')).findings, []);
});
