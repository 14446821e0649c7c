// search.test.mjs - GET search: what was said is found, by its owner alone, with
// nobody keeping an index while nobody searches.

import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { readFile, rm } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';

import { started } from '../support/started.mjs';
import { BOUND } from '../support/patience.mjs';

function searching(aside, headers = {}) {
  return async (q, more = '') => {
    const reply = await aside.api(
      'GET', `/search?q=${encodeURIComponent(q)}${more}`, undefined, { headers });
    assert.equal(reply.status, 200, reply.text);
    return reply.json;
  };
}
const kinds = (reply) => reply.results.map((r) => r.kind);

test('messages, answers and reports are found, newest first, with where they stand', BOUND, async (t) => {
  const { model, aside, conv, send, research, whole, ended } = await started(t);
  const search = searching(aside);
  model.next('entry', (req, reply) => reply.answer('The checkpoint moves pages into the database.'));
  const asked = await send('What is a Checkpoint?');
  await ended(asked.run.id);
  model.next('research', (req, reply) => reply.report('# Checkpoints\n\nA **checkpoint** ends the log.'));
  const r = await research('Compare checkpoints');
  await whole(r.id);
  const all = await search('checkpoint');
  assert.deepEqual(kinds(all), ['report', 'message', 'answer', 'message']);
  assert.deepEqual([all.complete, all.next], [true, null]);
  const [report, , answer, message] = all.results;
  assert.deepEqual([report.run_id, report.message_id, report.conversation_id], [r.id, r.message_id, conv]);
  assert.match(report.snippet, /A \*\*checkpoint\*\* ends the log/);
  assert.equal(answer.run_id, asked.run.id);
  assert.deepEqual([message.message_id, message.snippet], [asked.message.id, 'What is a Checkpoint?']);
  // every word, in any order and case; the last as a beginning
  assert.deepEqual(kinds(await search('PAGES moves data')), ['answer']);
  assert.deepEqual(kinds(await search('pages nowhere')), []);
  // an answer that is still being given is not found; the message is, at once
  model.next('entry', async (req, reply) => {
    reply.text('Zebra crossing');
    await reply.hold('open');
  });
  const open = await send('What about a zebra?');
  await model.held('open');
  assert.deepEqual(kinds(await search('zebra')), ['message']);
  await aside.api('POST', `/runs/${open.run.id}/stop`);
  assert.deepEqual(kinds(await search('zebra')), ['answer', 'message'], 'also without the runtime');
});

test('words of every writing, and signs that are no syntax', BOUND, async (t) => {
  const { aside, send, ended } = await started(t);
  const search = searching(aside);
  for (const body of ['月亮牵引潮汐', 'Über Flüsse und Café', 'שלום עולם', 'a "quoted" NEAR(thing) * -x :y ^z']) {
    await ended((await send(body)).run.id);
  }
  const found = async (q) => (await search(q)).results.filter((r) => r.kind === 'message').map((r) => r.snippet);
  assert.deepEqual(await found('潮汐'), ['月亮牵引潮汐']);
  assert.deepEqual(await found('引潮'), ['月亮牵引潮汐']);
  assert.deepEqual(await found('汐潮'), []);
  assert.deepEqual(await found('uber fluss'), ['Über Flüsse und Café']);
  assert.deepEqual(await found('CAFE'), ['Über Flüsse und Café']);
  assert.deepEqual(await found('שלום'), ['שלום עולם']);
  for (const q of ['"quoted"', 'NEAR(', '"', '*', 'near(thing) AND', 'account:a1', 'x OR 1=1', '( )', '\u0001"',
    'text : quoted', '-', '""""', 'quoted*', "' OR ''='"]) {
    await search(q);
  }
  assert.deepEqual(await found('near thing'), ['a "quoted" NEAR(thing) * -x :y ^z']);
  for (const [q, status] of [['', 422], ['   ', 422], ['x'.repeat(1001), 422]]) {
    assert.equal((await aside.api('GET', `/search?q=${encodeURIComponent(q)}`)).status, status);
  }
  assert.equal((await aside.api('GET', '/search')).status, 422);
  assert.equal((await aside.api('GET', '/search?q=x&before=x')).status, 422);
  assert.equal((await aside.api('GET', '/search?q=%ff')).status, 400);
});

test('a large past is taken in step by step, and given page by page', BOUND, async (t) => {
  const { aside, sql } = await started(t, {}, { runtime: false });
  const search = searching(aside);
  await sql(`WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2500)
    INSERT INTO message (conversation_id, body, created_ms)
    SELECT 1, 'word number' || i || ' of many', 1700000000000 + i FROM n`);
  let calls = 0;
  for (let done = false; !done; calls++) {
    done = (await search('number2500')).complete;
    assert.ok(calls < 5);
  }
  assert.equal(calls, 3);
  const seen = [];
  for (let before = '', n = 0; n < 60; n++) {
    const page = await search('many', `&limit=50${before}`);
    seen.push(...page.results.map((r) => r.snippet));
    if (page.next === null) {
      break;
    }
    before = `&before=${page.next}`;
  }
  assert.equal(seen.length, 2500);
  assert.equal(new Set(seen).size, 2500);
  assert.equal(seen[0], 'word number2500 of many');
});

test('what is deleted leaves no word behind', BOUND, async (t) => {
  const { aside } = await started(t, {}, { runtime: false });
  const search = searching(aside);
  const say = async (title, body) => {
    const { conversation } = (await aside.api('POST', '/conversations', { title })).json;
    await aside.api('POST', `/conversations/${conversation.id}/messages`, { body });
    return conversation.id;
  };
  const gone = await say('first', 'the word xylophone, once');
  await say('second', 'the word glockenspiel, once');
  assert.equal((await search('xylophone')).results.length, 1);
  const run = (await search('xylophone')).results[0].run_id;
  await aside.api('POST', `/runs/${run}/stop`);
  assert.equal((await aside.api('DELETE', `/conversations/${gone}`)).status, 200);
  assert.deepEqual((await search('xylophone')).results, []);
  assert.equal((await search('glockenspiel')).results.length, 1);
  for (const responder of ['responder-1', 'responder-2']) {
    await aside.part(responder).stop();
  }
  const file = path.join(aside.dataDir, 'search.db');
  assert.ok(!(await readFile(file)).includes('xylophone'));
  assert.ok(!existsSync(`${file}-wal`) || !(await readFile(`${file}-wal`)).includes('xylophone'));
});

test('many search at once through two responders; a file that is gone is made anew', BOUND, async (t) => {
  const { aside, send } = await started(t, { 'short.limit': 500 }, { runtime: false });
  const search = searching(aside);
  await Promise.all(Array.from({ length: 40 }, async (_, i) => {
    await send(`apple number${i}`);
    const found = await search(`number${i} apple`);
    assert.deepEqual(found.results.map((r) => r.snippet), [`apple number${i}`]);
  }));
  for (const end of ['', '-wal', '-shm']) {
    await rm(path.join(aside.dataDir, `search.db${end}`), { force: true });
  }
  assert.equal((await search('apple', '&limit=50')).results.length, 40);
});
