// `aside run` with the real programs: what `make run` starts.

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { mkdir, readFile, readdir, rename, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';

import { BUILD, ROOT, bin, temporaryDir } from '../support/harness.mjs';
import { Feed } from '../support/feed.mjs';
import { request } from '../support/http.mjs';
import { ScriptedModel } from '../support/scripted-model.mjs';
import { Supervised, childrenOf, runs } from '../support/supervised.mjs';
import { BOUND } from '../support/patience.mjs';

/** `aside run` over the built programs, with a feed and a way to post. */
async function start(t, env) {
  const aside = await Supervised.start({ t, programs: path.dirname(bin('aside')), env });
  await aside.ready();
  aside.feed = new Feed({ port: aside.port, base: '/api/v1' });
  aside.post = async (where, body = {}) => {
    const reply = await request(aside.port, 'POST', `/api/v1${where}`, {
      body: JSON.stringify(body),
      headers: { 'content-type': 'application/json', 'idempotency-key': randomUUID() },
    });
    assert.ok(reply.status < 300, reply.text);
    return reply.json;
  };
  aside.conversation = (await aside.post('/conversations')).conversation.id;
  aside.say = async (body, more = {}) => (await aside.post(
    `/conversations/${aside.conversation}/messages`, { body, ...more })).run.id;
  return aside;
}

test('a message is answered, and the stop leaves nothing', BOUND, async (t) => {
  const model = await ScriptedModel.start({ t });
  const aside = await start(t, { ASIDE_MODEL_URL: model.url, ASIDE_MODEL_NAME: 'scripted' });
  const names = (await childrenOf(aside.program.pid)).map(({ name }) => name).sort();
  assert.deepEqual(names, ['aside.fcgi', 'aside.fcgi', 'asided', 'nginx'], 'no offline model');
  model.next((req, reply) => reply.answer('Good evening.'));
  const run = await aside.say('Hello');
  await aside.feed.until((s) => s.runs.get(run)?.state === 'completed');
  assert.equal(aside.feed.state.answer(run), 'Good evening.');
  const parts = await childrenOf(aside.program.pid);
  assert.deepEqual(await aside.program.stop('SIGTERM', 25000), { code: 0, signal: null });
  for (const { pid } of parts) {
    assert.equal(await runs(pid), false);
  }
  assert.doesNotMatch(aside.program.log, /killed|\[(crit|alert|emerg)\]/);
});

test('R29 a killed runtime is started again and the same Run completes', BOUND, async (t) => {
  const model = await ScriptedModel.start({ t });
  const aside = await start(t, { ASIDE_MODEL_URL: model.url, ASIDE_MODEL_NAME: 'scripted' });
  model.next('research', async (req, reply) => {
    reply.text('I look into it. ');
    assert.equal(await reply.hold('looking'), 'closed');
  });
  const run = await aside.say('Research this.', { mode: 'background' });
  await model.held('looking');
  const before = aside.pidOf('asided');
  process.kill(before, 'SIGKILL');
  await aside.replaced('asided', before);
  const ended = await aside.feed.until(
    (s) => s.runs.get(run)?.ended_at && s.runs.get(run));
  assert.equal(ended.state, 'completed');
  assert.equal(aside.feed.state.runs.size, 1);
  assert.equal(model.requests.length, 2);
});

test('when the data folder is gone for good, nothing is begun anew in its place', BOUND, async (t) => {
  const model = await ScriptedModel.start({ t });
  const aside = await start(t, { ASIDE_MODEL_URL: model.url, ASIDE_MODEL_NAME: 'scripted' });
  const data = path.join(aside.dir, 'data');
  assert.match(aside.program.log, /there was no database in .*: a new one was made, and is empty/);
  await rename(data, `${data}-away`);
  await mkdir(data);
  const refused = await request(aside.port, 'POST', '/api/v1/conversations', { body: '{}',
    headers: { 'content-type': 'application/json', 'idempotency-key': 'a' } });
  assert.equal(refused.status, 503);
  assert.equal((await aside.program.ended).code, 1);
  assert.match(aside.program.log, /aside.db is gone, and was there: .*aside restore/);
  assert.deepEqual((await readdir(data)).filter((name) => name.startsWith('aside.db')), []);
});

test('the words of the README\'s tour do what it says', BOUND, async (t) => {
  const readme = (await readFile(path.join(ROOT, 'README.md'), 'utf8')).replace(/\s+/g, ' ');
  const [, research] = /Ask for \*(research: [^*]+)\*/.exec(readme);
  const [, question] = /Meanwhile ask \*([^*]+)\*/.exec(readme);
  const [, adjustment] = /add \*([^*]+)\*/.exec(readme);
  const aside = await start(t, { ASIDE_LIBRARY: '/usr/share/doc/sqlite3' });
  const id = await aside.say(research);
  await aside.feed.until((s) => s.runs.get(id)?.kind === 'research');
  const short = await aside.say(question);
  await aside.feed.until((s) => s.runs.get(short)?.state === 'completed');
  assert.ok(aside.feed.state.answer(short).length > 0);
  assert.equal(aside.feed.state.runs.get(id).state, 'running', 'the answer comes first');
  const { handoff } = await aside.post(`/runs/${id}/adjustments`, { body: adjustment });
  assert.equal(handoff.state, 'received');
  await aside.feed.until((s) => s.handoffs.get(handoff.id)?.state === 'handed');
  await aside.post(`/runs/${id}/stop`);
});

test('without a model the bundled one answers from the library', BOUND, async (t) => {
  const library = await temporaryDir();
  await mkdir(path.join(library, 'birds'), { recursive: true });
  await writeFile(path.join(library, 'birds/swift.md'), '# The common swift\n\n' +
    'The common swift sleeps while flying and may stay in the air for ten months.\n');
  const aside = await start(t, { ASIDE_LIBRARY: library, ASIDE_OFFLINE_WORDS_PER_SECOND: '2000' });
  const run = await aside.say('How long may a common swift stay in the air?');
  const ended = await aside.feed.until(
    (s) => s.runs.get(run)?.ended_at && s.runs.get(run));
  assert.equal(ended.state, 'completed');
  assert.match(aside.feed.state.answer(run), /ten months/);
});

test('the built page is what is served', BOUND, async (t) => {
  const aside = await Supervised.start({
    t, programs: path.dirname(bin('aside')), static: path.join(BUILD, 'static'),
    env: { ASIDE_MODEL_URL: 'http://127.0.0.1:9/v1' },
  });
  await aside.ready();
  const page = await aside.get('/');
  assert.equal(page.status, 200);
  const scripts = [...page.text.matchAll(/(?:src|href)="([^":]+\.(?:js|css))"/g)];
  assert.ok(scripts.length > 0);
  for (const [, where] of scripts) {
    const file = await aside.get(new URL(where, 'http://localhost/').pathname);
    assert.equal(file.status, 200, where);
    assert.match(file.headers['content-type'], /^text\/(javascript|css)/);
  }
});
