// context.test.mjs - what a model is given to read, where it has little room.

import assert from 'node:assert/strict';
import { rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';

import { temporaryDir } from '../support/harness.mjs';
import { assertCallsAnswered, assertSettled, history, started } from '../support/started.mjs';
import { BOUND } from '../support/patience.mjs';

/** A library of n pages of some 1200 bytes, each with its own word. */
async function pages(t, n) {
  const dir = await temporaryDir();
  t.after(() => rm(dir, { recursive: true, force: true }));
  for (let i = 1; i <= n; i++) {
    await writeFile(path.join(dir, `page${i}.md`), `# Tides ${i}\n\n` +
      `The tides of harbour${i} follow the moon. `.repeat(28) + '\n');
  }
  return dir;
}

/** As the runtime counts ASCII. */
const tokens = (q) => Math.ceil(q.raw.length / 3);
const startsWith = (whole, part) => part.every((m, i) => JSON.stringify(m) === JSON.stringify(whole[i]));
const texts = (q) => q.body.messages.map((m) => m.content ?? '');

test('R13 R15 a research outgrows its model: the oldest steps go, what is asked stays', BOUND, async (t) => {
  const { model, aside, send, research, say, whole, sql } = await started(t,
    { 'model.context_tokens': 8192, 'model.max_output_tokens': 512 }, { library: await pages(t, 20) });
  await whole((await send('Talk of before.')).run.id);
  let asks = '';
  const steps = 18;
  for (let i = 1; i <= steps; i++) {
    model.next('research', async (req, reply) => {
      reply.text(`Step ${i}.`);
      if (i === 1) {
        reply.call(['note', { text: `The first note of all.` }], ['library_search', { query: 'harbour1', limit: 3 }]);
      } else if (i === 4) {
        await reply.hold('adjust here');
        reply.call(['note', { text: 'never carried out' }]);
      } else if (i === 6) {
        asks = 'Which of the harbours?';
        reply.call(['ask_user', { question: asks }]);
      } else {
        reply.call(['library_search', { query: `harbour${i}`, limit: 3 }]);
      }
    });
  }
  const r = await research('How do the "tides"\nof all harbours differ?');
  await model.held('adjust here');
  const one = await say(r.id, 'Leave out\tharbour 9.');
  await aside.until((s) => s.runs.get(r.id)?.state === 'awaiting_input');
  const two = await say(r.id, 'The northern ones.', 'reply');
  const end = await whole(r.id);
  assert.equal(end.run.state, 'completed', JSON.stringify(end.run));

  const all = model.requests.filter((q) => q.purpose === 'research');
  assert.equal(all.length, steps + 1);
  let begun = 0;
  for (const [i, q] of all.entries()) {
    assert.ok(tokens(q) <= 8192 - 512, `request ${i}: ${tokens(q)} tokens`);
    const said = texts(q);
    assert.equal(q.body.messages[0].content, all[0].body.messages[0].content);
    // Whole, in order, the newest behind what was there when it came.
    const marks = said.filter((x) => /^\[(requirement|adjustment|reply) /.test(x));
    assert.deepEqual(marks, [`[requirement ${end.run.message_id}]\nHow do the "tides"\nof all harbours differ?`,
      ...(i >= 4 ? [`[adjustment ${one.message.id}]\nLeave out\tharbour 9.`] : []),
      ...(i >= 6 ? [`[reply ${two.message.id}]\nThe northern ones.`] : [])]);
    begun += i > 0 && !startsWith(q.body.messages, history(all[i - 1])) ? 1 : 0;
  }
  // It was begun anew, but seldom: the rest of the time the prefix stays.
  assert.ok(begun >= 1 && begun <= 4, `${begun} new beginnings`);
  const last = all.at(-1);
  const said = texts(last);
  const gone = said.find((x) => /^\[notice\]\nTo make room, \d+ earlier steps with \d+ look-ups/.test(x));
  assert.ok(gone, said.join('\n---\n'));
  assert.match(gone, /\[1\] to \[\d+\]/);
  assert.match(gone, /library_search \{"query":"harbour3","limit":3\}/);
  assert.equal(said.filter((x) => x.startsWith('[notice]')).length, 1);
  assert.equal(said.find((x) => x.startsWith('[notes')), '[notes of this research]\n[data]\n| The first note of all.\n[end of data]');
  // A reply keeps its question, which went with its step.
  const at = said.findIndex((x) => x.startsWith('[reply '));
  assert.deepEqual(last.body.messages[at - 1], { role: 'assistant', content: asks });
  assert.ok(!said.includes('Step 1.') && said.includes(`Step ${steps}.`));
  assert.equal(history(last).at(-1).role, 'tool');
  // The talk of before is still there, and everything found may be cited.
  assert.ok(said.includes('Talk of before.'));
  assert.ok(end.sources.length >= steps - 4);
  assertCallsAnswered(model);

  // R13: what is stored is what was sent, and one head serves all of it.
  for (const [i, q] of end.requests.filter((x) => x.sent_at !== null).entries()) {
    assert.equal((await aside.api('GET', `/requests/${q.id}/input`)).text, all[i].raw.toString());
  }
  assert.equal(await sql(`SELECT count(DISTINCT root.id) FROM segment AS root JOIN segment AS s ON s.parent_id = root.id
    WHERE root.run_id IS NULL AND s.run_id = ${r.id.slice(4)}`), '1');
  assert.equal(Number(await sql(`SELECT count(*) FROM segment AS s JOIN segment AS root ON s.parent_id = root.id
    WHERE root.run_id IS NULL AND s.run_id = ${r.id.slice(4)}`)), begun + 1);
  await assertSettled(sql);
});

test('R13 plain text that was kept as progress keeps its notice when the body is begun anew', BOUND, async (t) => {
  const { model, research, whole } = await started(t,
    { 'model.context_tokens': 6144, 'model.max_output_tokens': 512 }, { library: await pages(t, 8) });
  for (let i = 1; i <= 8; i++) {
    model.next('research', (req, reply) => i === 7
      ? reply.answer('I believe that is all.')
      : reply.call(['library_search', { query: `harbour${i}`, limit: 3 }]));
  }
  const end = await whole((await research('Tides?')).id);
  assert.equal(end.run.state, 'completed');
  const said = texts(model.requests[7]);
  const at = said.indexOf('I believe that is all.');
  assert.match(said[at + 1], /^\[notice\]\nYour text was kept as progress/);
  assert.equal(said.filter((x) => /kept as progress/.test(x)).length, 1);
  assertCallsAnswered(model);
});

test('R13 a result too large for the model is cut between passages, and says so', BOUND, async (t) => {
  const { model, research, send, whole } = await started(t,
    { 'model.context_tokens': 4096, 'model.max_output_tokens': 512 }, { library: await pages(t, 12) });
  model.next('research', (req, reply) => reply.call(
    ['library_search', { query: 'tides', limit: 10 }], ['library_read', { location: 'page3.md' }]));
  const end = await whole((await research('Tides?')).id);
  assert.equal(end.run.state, 'completed', end.run.reason);
  const results = model.requests[1].body.messages.filter((m) => m.role === 'tool').map((m) => JSON.parse(m.content));
  assert.match(results[0].cut, /left out here for want of room: recall \{"result":1,"from":\d+\} goes on with them/);
  assert.ok(results[0].passages.length >= 1 && results[0].passages.length < 10);
  assert.ok(results[0].passages.every((p) => p.n >= 1 && p.id && p.text));
  assert.ok(tokens(model.requests[1]) <= 4096 - 512);
  // Nothing of it is lost to the person, nor to the report's citations.
  assert.ok(end.sources.length >= 10, `${end.sources.length} sources`);
  // A short answer's look-up as well.
  model.next('entry', (req, reply) => reply.call(['library_search', { query: 'tides', limit: 10 }]));
  model.next('answer', (req, reply) => {
    assert.ok(JSON.parse(req.body.messages.at(-1).content).cut);
    assert.ok(tokens(req) <= 4096 - 512);
    reply.answer('So it is.');
  });
  assert.equal((await whole((await send('And now?')).run.id)).run.answer.body, 'So it is.');
});

test('CASES G-10 an endpoint that wants roles in turn gets them so, whatever is left out', BOUND, async (t) => {
  const { model, aside, send, research, say, whole } = await started(t,
    { 'model.name': 'mistral-small', 'model.context_tokens': 5120, 'model.max_output_tokens': 512 },
    { library: await pages(t, 12) });
  for (let i = 1; i <= 12; i++) {
    model.next('research', async (req, reply) => {
      if (i === 2) {
        reply.call(['ask_user', { question: 'Which harbour?' }], ['note', { text: 'x' }]);
      } else if (i === 6) {
        reply.answer('That is all, I believe.');
      } else {
        reply.call(['library_search', { query: `harbour${i}`, limit: 3 }]);
      }
    });
  }
  await whole((await send('Before.')).run.id);
  const r = await research('Tides?');
  await aside.until((s) => s.runs.get(r.id)?.state === 'awaiting_input');
  await say(r.id, 'Any.', 'reply');
  const end = await whole(r.id);
  assert.equal(end.run.state, 'completed');
  const more = await aside.api('POST', `/runs/${r.id}/continue`, { body: 'More' });
  await whole(more.json.run.id);
  assert.ok(model.requests.some((q) => texts(q).some((x) => x.includes('To make room'))));
  for (const [n, q] of model.requests.entries()) {
    const roles = q.body.messages.map((m) => m.role);
    for (let i = 1; i < roles.length; i++) {
      const pair = `${roles[i - 1]} ${roles[i]}`;
      assert.ok(!['user user', 'assistant assistant', 'tool user'].includes(pair),
        `request ${n}: ${pair} at ${i}\n${roles.join(' ')}`);
    }
  }
  assertCallsAnswered(model);
});

test('R14 a model with little room: the snapshot gives way, the message stands whole', BOUND, async (t) => {
  const { model, send, whole } = await started(t,
    { 'model.context_tokens': 4096, 'model.max_output_tokens': 1024 });
  for (let i = 1; i <= 6; i++) {
    model.next('entry', (req, reply) => reply.answer(`Answer ${i}. `.repeat(80)));
    await whole((await send(`Question ${i}. `.repeat(60))).run.id);
  }
  const room = 4096 - 1024;
  const message = 'Is "this"\nall there? '.repeat(80);
  await whole((await send(message)).run.id);
  const last = model.requests.at(-1);
  assert.deepEqual(last.body.messages.at(-1), { role: 'user', content: message });
  assert.match(texts(last).at(-2), /^\[facts of this moment\]/);
  for (const q of model.requests) {
    assert.ok(tokens(q) <= room, `${tokens(q)} tokens`);
  }
  // A small message leaves room for the newest exchange at least.
  await whole((await send('And now?')).run.id);
  const seen = texts(model.requests.at(-1));
  assert.ok(seen.length >= 5, `${seen.length} messages`);
  assert.ok(seen.some((x) => x.startsWith('Is "this"')), 'the newest exchange is there');
  assert.ok(!seen.some((x) => x.startsWith('Question 1.')), 'the oldest is not');

  // What cannot be held is told, not sent.
  const n = model.requests.length;
  const end = await whole((await send('x'.repeat(65536))).run.id);
  assert.deepEqual([end.run.state, end.run.reason], ['incomplete', 'length']);
  assert.match(end.run.progress, /too long for the model/);
  assert.equal(model.requests.length, n);
  // and does no harm to what comes after it.
  assert.equal((await whole((await send('Still there?')).run.id)).run.state, 'completed');
});

test('R26 no room even for the newest step: the closeout comes, and says why', BOUND, async (t) => {
  const { model, research, whole, sql } = await started(t,
    { 'model.context_tokens': 2600, 'model.max_output_tokens': 600 });
  model.next('research', (req, reply) => {
    reply.call(['note', { text: 'the moon pulls' }], ...Array(40).fill(['recall', { source: 9 }]));
  });
  model.next('closeout', (req, reply) => {
    assert.ok(tokens(req) <= 2000);
    const said = texts(req);
    assert.ok(said.some((x) => x === '[notes of this research]\n[data]\n| the moon pulls\n[end of data]'), said.join('\n---\n'));
    assert.ok(said.some((x) => x.startsWith('[requirement ')));
    reply.report('# What there was');
  });
  const end = await whole((await research('Tides? '.repeat(100))).id);
  assert.deepEqual([end.run.state, end.run.reason], ['incomplete', 'length']);
  assert.equal(end.run.answer.body, '# What there was');
  assert.deepEqual(end.requests.map((q) => q.purpose), ['research', 'closeout']);
  await assertSettled(sql);
});

test('R26 no room at all: a report is put together without the model', BOUND, async (t) => {
  const { model, research, whole, sql } = await started(t,
    { 'model.context_tokens': 1024, 'model.max_output_tokens': 900 });
  const end = await whole((await research('Tides?')).id);
  assert.deepEqual([end.run.state, end.run.reason], ['incomplete', 'length']);
  assert.match(end.run.answer.body, /ended before the model could write/);
  assert.equal(model.requests.length, 0);
  await assertSettled(sql);
});
