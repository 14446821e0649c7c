// library.test.mjs - files that accounts add to their libraries: whose they are,
// what is refused, what a crash leaves, and that citations go on opening.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { chmod, mkdir, readFile, readdir, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';

import { bin, eventually, lookForLeaks, startAside } from '../support/harness.mjs';
import { holdWriteLock } from '../support/lock.mjs';
import { pdf } from '../support/pdf.mjs';
import { ScriptedModel } from '../support/scripted-model.mjs';
import { shelf, started } from '../support/started.mjs';
import { BOUND } from '../support/patience.mjs';

lookForLeaks();

const SEA = '# Sea\n\nThe herring swims in shoals along the northern coast.\n';
const url = (name) => `/library/files/${name.split('/').map(encodeURIComponent).join('/')}`;

function assertProblem(reply, status, code) {
  assert.deepEqual([reply.status, reply.json?.code], [status, code], reply.text);
  assert.match(reply.headers['content-type'], /^application\/problem\+json/);
  assert.ok(reply.json.detail.length > 0);
}

function calls(aside, headers = {}) {
  const put = (name, body, more = {}) => aside.api('PUT', url(name), body,
    { headers: { 'content-type': 'application/octet-stream', ...headers, ...more } });
  const drop = (name, key) => aside.api('DELETE', url(name), undefined,
    { headers: { ...headers, ...(key ? { 'idempotency-key': key } : {}) } });
  const look = async (query = '') => (await aside.api('GET', `/library${query}`, undefined, { headers })).json;
  const named = async (name) => (await look()).documents.find((d) => d.name === name);
  return { put, drop, look, named, tails: () => aside.tails() };
}

/** Ask again until it is so: the state is read, so no change is missed. */
const settles = (step, what) => eventually(step, { what });

async function indexed(c, name) {
  try {
    await settles(async () => (await c.named(name))?.state === 'indexed', `${name} is indexed`);
  } catch (error) {
    error.message += `\n${JSON.stringify(await c.look())}\n${c.tails()}`;
    throw error;
  }
  return c.named(name);
}

const aside = (w, ...args) => promisify(execFile)(bin('aside'), args, { env: w.env })
  .then((r) => ({ code: 0, ...r }), (e) => ({ code: e.code, stdout: e.stdout, stderr: e.stderr }));

test('a file that is added is read, found, cited, and gone when it is removed', BOUND, async (t) => {
  const w = await started(t);
  const c = calls(w.aside);
  const seen = [];
  const before = (await w.aside.api('GET', '/overview')).json.as_of;
  const r = await c.put('notes/sea.md', SEA);
  assert.equal(r.status, 201, r.text);
  assert.equal(r.json.replaced, false);
  assert.deepEqual([r.json.document.name, r.json.document.state, r.json.document.shared],
    ['notes/sea.md', 'waiting', false]);
  const doc = await indexed(c, 'notes/sea.md');
  assert.equal(doc.id, r.json.document.id);
  assert.equal(doc.passages, 1);
  // the page is told when it comes and when it is read
  await settles(async () => {
    const { json } = await w.aside.api('GET', `/changes?after=${before}&wait=0`);
    seen.splice(0, seen.length, ...json.changes.filter((x) => x.kind === 'library.updated'));
    return seen.length >= 2;
  }, 'two changes of the library');
  assert.deepEqual(Object.keys(seen[0]).sort(), ['conversation_id', 'kind', 'run_id', 'seq']);
  await settles(async () => !(await c.look()).indexing, 'nothing is asked for any more');

  w.model.next('research', (req, reply) => reply.call(['library_search', { query: 'herring shoals' }]));
  w.model.next('research', (req, reply) => reply.report('# Herring\n\nIn shoals [1].'));
  const run = await w.whole((await w.research('herring')).id);
  const [source] = run.sources;
  assert.equal(source.location, 'notes/sea.md');
  assert.match(source.text, /herring swims in shoals/);

  // its passage keeps its id when the library is made anew, under whoever reads it
  const told = (req) => req.body.messages.filter((m) => m.role === 'tool').at(-1).content;
  const id = await w.sql(`SELECT passage FROM source WHERE id = ${source.id.slice(4)}`);
  await rm(path.join(w.aside.dataDir, 'library.db'));
  for (const end of ['-wal', '-shm']) await rm(path.join(w.aside.dataDir, `library.db${end}`), { force: true });
  assert.equal((await c.put('notes/bay.md', '# Bay\n\nThe bay freezes over.\n')).status, 201);
  await indexed(c, 'notes/bay.md');
  await indexed(c, 'notes/sea.md');
  w.model.next('research', (req, reply) => reply.call(['library_search', { query: 'bay freezes' }]));
  w.model.next('research', (req, reply) => reply.report('# Bay\n\nIt freezes [1].'));
  assert.match((await w.whole((await w.research('bay')).id)).sources[0].text, /bay freezes over/);
  assert.equal((await c.drop('notes/bay.md')).status, 200);
  w.model.next('research', (req, reply) => reply.call(['library_read', { id }], ['library_read', { id: Number(id) }]));
  w.model.next('research', (req, reply) => {
    const all = req.body.messages.filter((m) => m.role === 'tool').map((m) => m.content);
    assert.match(all[0], /herring swims in shoals/);
    assert.equal(all[1], all[0]); // models write it as a number, too
    reply.report('# Again\n\nIn shoals [1].');
  });
  await w.whole((await w.research('again')).id);

  // removed: no longer found, and the citation opens all the same
  assert.equal((await c.drop('notes/sea.md')).status, 200);
  assertProblem(await c.drop('notes/sea.md'), 404, 'not_found');
  assert.deepEqual((await c.look()).documents, []);
  await settles(async () => !(await c.look()).indexing, 'the removal is read');
  w.model.next('research', (req, reply) => reply.call(['library_search', { query: 'herring shoals' }]));
  w.model.next('research', (req, reply) => {
    assert.doesNotMatch(told(req), /northern coast/);
    reply.report('# Nothing');
  });
  await w.whole((await w.research('gone')).id);
  assert.match((await w.run(run.run.id)).sources[0].text, /herring swims in shoals/);
});

test('what is refused says why, and leaves nothing', BOUND, async (t) => {
  const w = await startAside({ t, conf: { 'library.max_files': 3, 'library.max_bytes': 6000000 } });
  const c = calls(w);
  const raw = (where, body = 'x', headers = {}) => w.api('PUT', `/library/files/${where}`, body, { headers });
  const invalid = ['..%2Fa.md', 'a/..%2f..%2fb.md', '.hidden.md', 'a/.b.md', '%2Fa.md', 'a%5Cb.md', 'a%0Ab.md',
    `${'a'.repeat(201)}.md`, `${'a/'.repeat(16)}b.md`, 'a/%2E%2E/b.md'];
  for (const where of invalid) {
    assertProblem(await raw(where), 422, 'invalid_name');
  }
  assertProblem(await raw('%FF.md'), 404, 'not_found');
  assert.match((await raw('%FF.md')).json.detail, /not UTF-8/);
  assert.equal((await raw('a%00.md')).status, 400);
  assert.equal((await raw('')).status, 404);
  for (const where of ['a.exe', 'a', 'a.md/']) {
    assert.ok([415, 422].includes((await raw(where)).status), where);
  }
  assertProblem(await raw('a.exe'), 415, 'file_kind');
  assertProblem(await raw('a.md', 'x', { origin: 'http://evil.example' }), 403, 'foreign_origin');
  assertProblem(await raw('a.md', 'x', { 'sec-fetch-site': 'cross-site' }), 403, 'foreign_origin');
  assertProblem(await w.api('POST', '/library/files/a.md', {}), 405, 'method_not_allowed');
  // just what fits, and a byte more
  const full = Buffer.alloc(5 << 20, 'a ');
  assert.equal((await c.put('full.txt', full)).status, 201);
  assertProblem(await c.put('more.txt', Buffer.concat([full, Buffer.from('a')])), 413, 'body_too_large');
  assertProblem(await c.put('two.txt', full), 507, 'library_full');
  assert.equal((await c.put('full.txt', full)).status, 200);
  assert.equal((await c.put('Caf\u00e9.md', SEA)).status, 201);
  assertProblem(await c.put('caf\u00e9.md', SEA), 409, 'name_taken');
  assertProblem(await c.put('Cafe\u0301.md', SEA), 409, 'name_taken');
  assertProblem(await c.put('full.txt/a.md', SEA), 409, 'name_taken');
  assert.equal((await c.put('c.md', SEA)).status, 201);
  assertProblem(await c.put('d.md', SEA), 507, 'library_full');
  const { documents, used, limits } = await c.look();
  assert.deepEqual(documents.map((d) => d.name), ['Caf\u00e9.md', 'c.md', 'full.txt']);
  assert.equal(used.files, 3);
  assert.deepEqual(limits, { files: 3, bytes: 6000000, file_bytes: 5 << 20 });
  const left = (await readdir(path.join(w.dataDir, 'library', 'me'))).filter((n) => n.startsWith('.new'));
  assert.deepEqual(left, []);
  // what cannot be read says so
  assert.equal((await c.drop('c.md')).status, 200);
  assert.equal((await c.put('bytes.txt', Buffer.from([0, 255, 0, 254]))).status, 201);
  await settles(async () => (await c.named('bytes.txt'))?.state === 'failed', 'it has failed');
  assert.equal((await c.named('bytes.txt')).reason, 'not a text file');
});

test('accounts see the shared folders and their own files, nothing else', BOUND, async (t) => {
  const library = await shelf(t);
  const model = await ScriptedModel.start({ t });
  const w = await startAside({ t, model, library, conf: { auth: 'proxy' } });
  const file = path.join(w.dir, 'nginx.conf');
  await writeFile(file, (await readFile(file, 'utf8')).replace('fastcgi_param HTTP_HOST $http_host;',
    'fastcgi_param HTTP_HOST $http_host; fastcgi_param REMOTE_USER $http_x_test_user;'));
  await w.restart('nginx');
  const [ann, ben] = ['ann', 'ben'].map((user) => calls(w, { 'x-test-user': user }));
  assert.equal((await ann.put('mine.md', SEA)).status, 201);
  assert.equal((await ben.put('mine.md', '# Kipper\n\nA kipper is a smoked herring.\n')).status, 201);
  assert.equal((await ben.put('b.md', '# Bloater\n\nA bloater is a herring too.\n')).status, 201);
  await Promise.all([indexed(ann, 'mine.md'), indexed(ben, 'b.md')]);
  assert.deepEqual((await ann.look()).documents.filter((d) => !d.shared).map((d) => d.name), ['mine.md']);
  assert.equal((await ann.look()).shared, 2);
  assert.equal((await ann.drop('b.md')).status, 404);

  const results = (req) => req.body.messages.filter((m) => m.role === 'tool').map((m) => m.content);
  const db = (sql) => promisify(execFile)('sqlite3', [path.join(w.dataDir, 'library.db'), sql]);
  const id = (await db("SELECT p.id FROM passage p JOIN document d ON d.id = p.document_id WHERE d.path LIKE '%/b.md'"))
    .stdout.trim();
  assert.match(id, /^\d+$/);
  model.next('research', (req, reply) => reply.call(
    ['library_search', { query: 'herring' }], ['library_search', { query: 'kipper bloater' }],
    ['library_read', { id }], ['library_read', { location: 'b.md' }],
    ['library_read', { location: 'library/ben/b.md' }], ['library_read', { location: 'ben/b.md' }],
    ['library_read', { location: 'mine.md' }], ['library_search', { query: 'moon tides' }]));
  model.next('research', (req, reply) => {
    const all = results(req);
    assert.equal(all.length, 8);
    assert.doesNotMatch(all.join('\n'), /[Kk]ipper is|bloater is/);
    assert.match(all[0], /northern coast/);
    for (const k of [2, 3, 4, 5]) assert.match(all[k], /no such document/);
    assert.match(all[6], /northern coast/);
    assert.match(all[7], /moon pulls/);
    reply.report('# Done\n\nIn shoals [1].');
  });
  const headers = { 'x-test-user': 'ann' };
  const { json: { conversation } } = await w.api('POST', '/conversations', {}, { headers });
  const { json: { run } } = await w.api('POST', `/conversations/${conversation.id}/messages`,
    { body: 'herring', mode: 'background' }, { headers });
  await settles(async () => (await w.api('GET', `/runs/${run.id}`, undefined, { headers })).json.run.ended_at, 'it has ended');
  assert.equal(model.requests.length, 2);
});

test('a PDF is read page by page, and a broken one says so', BOUND, async (t) => {
  const w = await started(t);
  const c = calls(w.aside);
  assert.equal((await c.put('harbour.pdf', pdf([['Harbour report'], ['The quay holds ninety barges.']]))).status, 201);
  assert.equal((await c.put('broken.pdf', 'no PDF at all')).status, 201);
  await indexed(c, 'harbour.pdf');
  await settles(async () => (await c.named('broken.pdf'))?.state === 'failed', 'it has failed');
  assert.match((await c.named('broken.pdf')).reason, /no PDF/);
  w.model.next('research', (req, reply) => reply.call(['library_search', { query: 'quay barges' }]));
  w.model.next('research', (req, reply) => reply.report('# Quay\n\nNinety barges [1].'));
  const [source] = (await w.whole((await w.research('quay')).id)).sources;
  assert.deepEqual([source.location, source.heading], ['harbour.pdf', 'Page 2']);
  assert.match(source.text, /ninety barges/);
});

test('uploads of one name at once: one of them is there, whole', BOUND, async (t) => {
  const w = await startAside({ t });
  const c = calls(w);
  const bodies = Array.from({ length: 12 }, (_, i) => `# ${i}\n\n${`word${i} `.repeat(20000)}`);
  const replies = await Promise.all(bodies.map((b) => c.put('same.md', b)));
  assert.deepEqual([...new Set(replies.map((r) => r.status))].sort(), [200, 201]);
  assert.equal(replies.filter((r) => r.status === 201).length, 1);
  const there = await readFile(path.join(w.dataDir, 'library', 'me', 'same.md'), 'utf8');
  assert.ok(bodies.includes(there));
  const doc = await indexed(c, 'same.md');
  assert.equal(doc.bytes, Buffer.byteLength(there));
});

test('R29 killed between the upload and the index, the file is read when it is back', BOUND, async (t) => {
  const w = await startAside({ t });
  const c = calls(w);
  await w.kill('asided');
  assert.equal((await c.put('late.md', SEA)).status, 201);
  assert.deepEqual([(await c.named('late.md')).state, (await c.look()).indexing], ['waiting', true]);
  await Promise.all(['responder-1', 'responder-2'].map((n) => w.kill(n)));
  for (const name of ['responder-1', 'responder-2']) w.launch(name);
  await w.restart('asided');
  await indexed(c, 'late.md');
  await settles(async () => !(await c.look()).indexing, 'nothing is asked for any more');
});

test('R02 a removal is done once for its key, also when the responder dies in it', BOUND, async (t) => {
  const w = await startAside({ t, responders: 1 });
  const c = calls(w);
  for (const name of ['a.md', 'b.md']) assert.equal((await c.put(name, SEA)).status, 201);
  assertProblem(await c.drop('never.md', 'never'), 404, 'not_found');
  const first = await c.drop('a.md', 'once');
  assert.deepEqual([first.status, first.json.replayed], [200, false], first.text);
  const again = await c.drop('a.md', 'once');
  assert.deepEqual([again.status, again.json.replayed], [200, true], again.text);
  assertProblem(await c.drop('b.md', 'once'), 409, 'key_reused');
  assertProblem(await c.drop('a.md', 'twice'), 404, 'not_found');
  // what has the name since is another file
  assert.equal((await c.put('a.md', SEA)).status, 201);
  assert.equal((await c.drop('a.md', 'once')).json.replayed, true);
  assert.ok(await c.named('a.md'));

  // it dies when the file is gone and the row is not there yet
  const lock = await holdWriteLock(path.join(w.dataDir, 'aside.db'), 20000);
  const lost = c.drop('b.md', 'lost').catch(() => null);
  const files = async () => (await readdir(path.join(w.dataDir, 'library', 'me'))).sort();
  await settles(async () => !(await files()).includes('b.md'), 'the file is put aside');
  await w.kill('responder-1');
  await lock.release();
  await lost;
  w.launch('responder-1');
  let back;
  await settles(async () => {
    back = await c.drop('b.md', 'lost');
    return back.status < 500;
  }, 'the responder is back');
  assert.deepEqual([back.status, back.json.replayed], [200, false], back.text);
  assert.deepEqual(await files(), ['.lock', 'a.md']);
  assert.equal((await c.drop('b.md', 'lost')).json.replayed, true);
});

test('a full disk is said, and leaves nothing', BOUND, async (t) => {
  const w = await startAside({ t, runtime: false, responders: 1 });
  const c = calls(w);
  // a limit on the size of files does what a full disk does
  await promisify(execFile)('prlimit', [`--pid=${w.part('responder-1').pid}`, '--fsize=2000000']);
  assertProblem(await c.put('big.txt', 'a '.repeat(1500000)), 507, 'disk_full');
  assert.deepEqual((await c.look()).documents, []);
  assert.equal((await c.put('small.txt', 'a')).status, 201);
  assert.deepEqual((await readdir(path.join(w.dataDir, 'library', 'me'))).sort(), ['.lock', 'small.txt']);
});

test('a run of the indexer that fails is said, and made again by itself', BOUND, async (t) => {
  const w = await startAside({ t });
  const c = calls(w);
  const lock = path.join(w.dataDir, 'library.lock');
  const health = async () => (await w.api('GET', '/health')).json.library;
  await w.kill('asided', 'SIGTERM');
  await rm(lock, { force: true });
  await mkdir(lock); // which cannot be opened as a file
  assert.equal((await c.put('a.md', SEA)).status, 201);
  assert.deepEqual([(await c.look()).failing, await health()], [null, 'ok']);
  await w.restart('asided');
  await settles(async () => (await c.look()).failing, 'it has failed');
  assert.equal((await c.look()).failing.reason, 'io');
  assert.ok((await c.look()).failing.retry_at > 0);
  assert.equal(await health(), 'failing');
  // what was asked stays asked, and nothing is told to be read
  assert.deepEqual([(await c.look()).indexing, (await c.named('a.md')).state], [true, 'waiting']);
  // who asks anew has it tried at once
  const before = (await w.api('GET', '/overview')).json.as_of;
  const at = (await c.look()).failing.retry_at;
  assert.equal((await w.api('POST', '/library/index', {})).status, 200);
  await settles(async () => (await c.look()).failing.retry_at > at, 'it has failed again, later');
  // and when the cause is gone it is made good without being asked: soon, by a
  // runtime that has not failed for long
  await w.kill('asided', 'SIGTERM');
  const failed = (await c.look()).failing.retry_at;
  await w.restart('asided');
  await settles(async () => (await c.look()).failing?.retry_at > failed, 'it fails again');
  await rm(lock, { recursive: true });
  await indexed(c, 'a.md');
  await settles(async () => !(await c.look()).indexing, 'all is read');
  assert.deepEqual([(await c.look()).failing, await health()], [null, 'ok']);
  const { json } = await w.api('GET', `/changes?after=${before}&wait=0`);
  assert.ok(json.changes.filter((x) => x.kind === 'library.updated').length >= 3);
});

test('a document that the indexer dies of is passed over; the others are read', BOUND, async (t) => {
  const w = await startAside({ t });
  const c = calls(w);
  const lock = path.join(w.dataDir, 'library.lock');
  const marked = async () => /^(\d) (library\/me\/slow\.html)$/.exec(await readFile(lock, 'utf8').catch(() => ''))?.[1];
  // It takes a second or two to read: the parser looks through all open elements at each stray end.
  const slow = `<p>first</p>${'<i>'.repeat(500)}${'</b>'.repeat(1200000)}`;
  assert.equal((await c.put('slow.html', slow)).status, 201);
  for (let i = 1; i <= 3; i++) {
    await settles(async () => await marked() === `${i}`, `it is read for the ${i}. time`);
    const children = await promisify(execFile)('pgrep', ['-P', `${w.part('asided').pid}`, 'aside']);
    process.kill(Number(children.stdout.trim()), 'SIGKILL');
    await settles(async () => (await c.look()).failing, 'the run has failed');
    assert.equal((await c.put(`other${i}.md`, SEA)).status, 201); // which has it tried at once
  }
  for (const i of [1, 2, 3]) await indexed(c, `other${i}.md`);
  assert.deepEqual([(await c.named('slow.html')).state, (await c.named('slow.html')).reason], ['failed', 'reading it broke off']);
  await settles(async () => !(await c.look()).failing, 'nothing fails any more');
  // another one of that name is read
  assert.equal((await c.put('slow.html', '<p>The tide is slow.')).status, 200);
  await indexed(c, 'slow.html');
});

test('the command line adds, lists and removes, with and without Aside', BOUND, async (t) => {
  const w = await startAside({ t });
  const c = calls(w);
  const dir = path.join(w.dir, 'things');
  await mkdir(path.join(dir, 'deep'), { recursive: true });
  await writeFile(path.join(dir, 'a.md'), SEA);
  await writeFile(path.join(dir, 'deep', 'b.txt'), 'Salt of the sea.');
  await writeFile(path.join(dir, 'deep', 'c.bin'), 'no');
  await writeFile(path.join(dir, '.secret.md'), 'no');
  const added = await aside(w, 'library', 'add', dir);
  assert.equal(added.code, 0, added.stderr);
  assert.match(added.stdout, /added things\/a\.md\n/);
  assert.match(added.stdout, /added things\/deep\/b\.txt\n/);
  assert.match(added.stdout, /1 of other kinds passed over/);
  await indexed(c, 'things/a.md');
  assert.equal((await c.look()).documents.length, 2);
  await w.kill('asided', 'SIGTERM');
  const one = path.join(dir, 'a.md');
  const mixed = await aside(w, 'library', 'add', one, path.join(dir, 'none.md'), path.join(dir, 'deep', 'c.bin'));
  assert.equal(mixed.code, 1);
  assert.match(mixed.stdout, /added a\.md/);
  assert.match(mixed.stderr, /none\.md: No such file/);
  assert.match(mixed.stderr, /c\.bin: the name does not end in/);
  const list = await aside(w, 'library', 'list');
  assert.deepEqual(list.stdout.trim().split('\n').map((l) => l.split('\t')).map((f) => [f[0], f[1], f[4]]),
    [['indexed', 'own', 'a.md'], ['indexed', 'own', 'things/a.md'], ['indexed', 'own', 'things/deep/b.txt']]);
  const gone = await aside(w, 'library', 'remove', 'a.md', 'things/a.md', 'nothing.md');
  assert.equal(gone.code, 1);
  assert.match(gone.stderr, /nothing\.md: no such document/);
  assert.deepEqual((await c.look()).documents.map((d) => [d.name, d.state]), [['things/deep/b.txt', 'indexed']]);

  // Started by hand, without the configuration: what the runtime shares stays.
  await writeFile(path.join(w.libraryDir, 'shared.md'), '# Shared\n\nBy all.\n');
  const index = await aside(w, 'index', '--json');
  assert.equal(JSON.parse(index.stdout).added, 1, index.stderr);
  const bare = { env: { ...w.env, ASIDE_LIBRARY: '' } };
  const shared = async () => JSON.parse((await aside(bare, 'library', 'list', '--json')).stdout).documents
    .filter((d) => d.whose === 'shared').map((d) => [path.basename(d.name), d.state]);
  for (const words of [['index'], ['library', 'add', one], ['library', 'remove', 'a.md'],
    ['account', 'delete', '--force', 'nobody']]) {
    const r = await aside(bare, ...words);
    assert.equal(r.code, 0, r.stderr);
    assert.deepEqual(await shared(), [['shared.md', 'indexed']], words.join(' '));
  }
  assert.match((await aside(bare, 'index')).stderr, /the key library is empty here: shared documents were left/);
  // The runtime's own call knows them, and that there are none.
  assert.equal(JSON.parse((await aside(bare, 'index', '-w', '--json')).stdout).removed, 1);
  for (const words of [[], ['add'], ['list', 'x'], ['remove'], ['frob'], ['add', '-x', one]]) {
    const r = await aside(w, 'library', ...words);
    assert.equal(r.code, 2, words.join(' '));
    assert.match(r.stderr, /usage: aside library add|invalid option/);
  }
});
