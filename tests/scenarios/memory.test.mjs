// memory.test.mjs - a research's working memory holds up over many steps: its
// prompt stays within the configured bound, what is asked is always in it, what
// was left out can be had again, and each prompt begins as the one before.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { assertCallsAnswered, assertSettled, shelf, started } from '../support/started.mjs';
import { BOUND } from '../support/patience.mjs';

const texts = (q) => q.body.messages.map((m) => m.content ?? '');
const told = (q) => q.body.messages.filter((m) => m.role === 'tool').map((m) => m.content).at(-1);
/** A token is a third of an ASCII byte, as Aside counts. */
const tokens = (q) => Math.ceil(q.raw.length / 3);
/** Bytes without the reminder and what closes the body: what the next one may begin with. */
const open = (q) => {
  const at = q.raw.lastIndexOf(',{"role":"user","content":"[reminder]\\n');
  return q.raw.subarray(0, at > 0 ? at : q.raw.length - ']}'.length);
};
const begins = (q, before) => q.raw.subarray(0, open(before).length).equals(open(before));

const ROUNDS = 60;
const STEPS = ROUNDS + 3; // one publishes a draft, two are interrupted
const PROMPT = 12000;
const large = (n) => ['fault_large', { page: n }];

test('R13 R15 60 rounds of 200 KB: the prompt keeps its bound, and nothing that is asked is lost', BOUND, async (t) => {
  const { model, aside, research, say, run, whole, sql } = await started(t, {
    'model.context_tokens': 200000, 'model.max_output_tokens': 1000, 'model.prompt_tokens': PROMPT,
    'budget.normal.requests': 200, 'budget.normal.tool_calls': 200, 'budget.normal.tokens': 100000000,
  });
  const request = 'Compare the "harbours"\nof the north, 比较它们, and cite each.';
  const added = ['Leave out\tharbour 9.', 'Also the price of salt \u{1f9c2}.'];
  const at = { 15: 0, 40: 1 };
  const asked = [];
  for (let i = 1; i <= STEPS; i++) {
    model.next('research', async (req, reply) => {
      if (i in at) {
        asked.push(await say((await going).id, added[at[i]]));
      }
      if (i === 2) {
        reply.call(large(i), ['note', { text: 'The first note of all.', pin: [1, 21] }]);
      } else if (i === 3) {
        reply.call(['publish_draft', { report: '# A draft of long ago [1]' }]);
      } else {
        reply.text(`Step ${i}.`).call(large(i));
      }
    });
  }
  // Long after: what went is had again, by passage, by result and page by page.
  const calls = [
    ['recall', { source: 1 }], ['recall', { result: 1 }], ['recall', { result: 1, from: 3 }],
    ['recall', { draft: true }], ['recall', { source: 9999 }],
  ];
  const results = [];
  for (const call of calls) {
    model.next('research', (req, reply) => {
      results.push(told(req));
      reply.call(call);
    });
  }
  model.next('research', (req, reply) => {
    results.push(told(req));
    reply.report('# All harbours\n\nOf old [1], and of late [900].');
  });
  const going = research(request);
  const r = await going;
  const end = await whole(r.id, 180000);
  assert.equal(end.run.state, 'completed', JSON.stringify(end.run));

  const all = model.requests.filter((q) => q.purpose === 'research');
  const marked = (n) => [`[requirement ${end.run.message_id}]\n${request}`,
    ...asked.slice(0, n).map(({ message }, i) => `[adjustment ${message.id}]\n${added[i]}`)];
  let begun = 0;
  let given = 0;
  let size = 0;
  for (const [i, q] of all.entries()) {
    assert.ok(tokens(q) <= PROMPT, `request ${i}: ${tokens(q)} tokens`);
    size = Math.max(size, tokens(q));
    const said = texts(q);
    // Everything that is asked, verbatim, once, in order; a new adjustment last.
    const marks = said.filter((x) => /^\[(requirement|adjustment) /.test(x));
    assert.ok(marks.length >= given && marks.length - given <= 1, `request ${i}`);
    assert.deepEqual(marks, marked(marks.length - 1));
    // Every requirement is called to mind in the last message, in short, the newest last, and nowhere else.
    const reminders = said.filter((x) => x.startsWith('[reminder]'));
    if (i === 0) {
      assert.equal(said.at(-1), marks.at(-1), 'what stands last need not be said twice');
      assert.deepEqual(reminders, []);
    } else {
      assert.deepEqual(reminders, [said.at(-1)], `request ${i}`);
      assert.deepEqual(said.at(-1).split('\n').slice(2), [
        `${end.run.message_id}: Compare the "harbours" of the north, 比较它们, and cite each.`,
        ...asked.slice(0, marks.length - 1).map(({ message }, k) => `${message.id}: ${added[k].replace('\t', ' ')}`)]);
    }
    if (marks.length > given && i > 0) {
      assert.equal(said.at(-2), marks.at(-1), `request ${i}: the newest stands whole before it`);
    }
    given = marks.length;
    begun += i > 0 && !begins(q, all[i - 1]) ? 1 : 0;
  }
  assert.equal(given, 3);
  assert.ok(size > PROMPT / 2, `the room is used: ${size}`);
  // In big steps: most requests go on from the one before, byte for byte.
  assert.ok(begun >= 2 && begun <= all.length / 3, `${begun} of ${all.length} begun anew`);

  const late = texts(all[STEPS - 1]);
  assert.ok(late.includes('[notes of this research]\n[data]\n| The first note of all.\n[end of data]'));
  const gone = late.find((x) => /^\[notice\]\nTo make room, \d+ earlier steps/.test(x));
  assert.match(gone, /recall gives back: \{"source":n\} a passage, \{"result":n\} a result\. \{"draft":true\}/);
  assert.match(gone, /\n\| \d+: fault_large \{"page":\d+\}/);

  assert.match(results[1], /^\[1\] Page of \{"page":1\}, Part 0 \(large\.md\)\n\{"page":1\}/);
  assert.match(results[1], /\n\[cut here for want of room; recall \{"source":1,"from":\d+\} goes on\]$/);
  const first = JSON.parse(results[2]);
  assert.equal(first.passages[0].n, 1);
  assert.match(first.cut, /recall \{"result":1,"from":1\}/);
  assert.equal(JSON.parse(results[3]).passages[0].n, 4);
  assert.equal(results[4], '# A draft of long ago [1]');
  assert.match(results[5], /there is none of this number/);

  // The Run is still read whole, and quickly: its texts are kept, not all sent.
  assert.equal(end.sources.length, 20 * ROUNDS);
  const { id: newest, text: shown, text_cut: cut } = (await run(r.id)).sources.at(-1);
  const passage = (await aside.api('GET', `/sources/${newest}/text`)).text;
  assert.deepEqual([passage.length, cut, passage.startsWith(shown)], [10000, true, true]);
  assertCallsAnswered(model);
  for (const q of end.requests.slice(-3)) {
    const sent = (await aside.api('GET', `/requests/${q.id}/input`)).text;
    assert.ok(all.some((x) => x.raw.toString() === sent), q.id);
  }
  await assertSettled(sql);
});

test('R13 a pinned passage stays word for word, and one that was never retrieved is not pinned', BOUND, async (t) => {
  const { model, research, whole, sql } = await started(t, {
    'model.context_tokens': 16000, 'model.max_output_tokens': 500, 'model.prompt_tokens': 6000,
  }, { library: await shelf(t) });
  model.next('research', (req, reply) => reply.call(['library_search', { query: 'tides moon' }]));
  model.next('research', (req, reply) => reply.call(['note', { text: 'the moon it is', pin: [77, 'x', 1] }]));
  model.next('research', (req, reply) => {
    assert.equal(JSON.parse(told(req)).outcome,
      'noted; not pinned, since no passage with that number was retrieved: 77, 0');
    reply.call(large(1));
  });
  for (let i = 2; i < 8; i++) {
    model.next('research', (req, reply) => reply.call(large(i)));
  }
  const end = await whole((await research('the sea')).id);
  assert.equal(end.run.state, 'completed', JSON.stringify(end.run));
  const said = texts(model.requests.at(-1));
  const pinned = said.find((x) => x.startsWith('[pinned passages]'));
  assert.equal(pinned, `[pinned passages]\n[data]\n| [1] ${end.sources[0].title}${
    end.sources[0].heading ? `, ${end.sources[0].heading}` : ''}\n| ${
    end.sources[0].text.replaceAll('\n', '\n| ')}\n[end of data]`);
  assert.equal(await sql('SELECT group_concat(n) FROM pin'), '1');
  await assertSettled(sql);
});

test('of more pins than a call may set, the model is told which were not set', BOUND, async (t) => {
  const { model, research, whole, sql } = await started(t);
  const from = (first, n) => Array.from({ length: n }, (_, i) => first + i);
  model.next('research', (req, reply) => reply.call(large(1), large(2), large(3)));
  model.next('research', (req, reply) => reply.call(['note', { text: 'all', pin: from(1, 22) }],
    ['note', { text: 'many', pin: [...from(30, 20), ...from(1, 30)] }]));
  model.next('research', (req, reply) => {
    const results = req.body.messages.filter((m) => m.role === 'tool').slice(-2).map((m) => JSON.parse(m.content));
    assert.deepEqual(results, [{ outcome: 'noted; not pinned, since a call pins 20 at most: 21, 22' },
      { outcome: `noted; not pinned, since a call pins 20 at most: ${from(1, 20).join(', ')}, and more` }]);
    reply.report('# All');
  });
  const end = await whole((await research('the sea')).id);
  assert.equal(end.run.state, 'completed', JSON.stringify(end.run));
  assert.equal(await sql('SELECT count(*) FROM pin'), '40');
  await assertSettled(sql);
});

test('R26 a closeout has the draft before it when the step that published it is gone', BOUND, async (t) => {
  const { model, research, whole, sql } = await started(t, {
    'model.context_tokens': 16000, 'model.max_output_tokens': 500, 'model.prompt_tokens': 6000,
    'budget.normal.requests': 8,
  });
  model.next('research', (req, reply) => reply.call(['publish_draft', { report: '# So far\n\nThe moon.' }]));
  for (let i = 1; i < 7; i++) {
    model.next('research', (req, reply) => reply.call(large(i)));
  }
  model.next('closeout', (req, reply) => {
    assert.ok(texts(req).includes('[draft of this research]\n[data]\n| # So far\n| \n| The moon.\n[end of data]'));
    assert.ok(!texts(req).some((x) => x.includes('recall gives')));
    reply.report('# The end');
  });
  const end = await whole((await research('the sea')).id);
  assert.deepEqual([end.run.state, end.run.reason], ['incomplete', 'budget_requests']);
  await assertSettled(sql);
});

test('recall and its arguments: what is not there is refused, and each call counts', BOUND, async (t) => {
  const { model, research, whole, sql } = await started(t);
  model.next('research', (req, reply) => reply.call(['recall', { source: 1 }], ['recall', { result: 0 }],
    ['recall', { result: 99 }], ['recall', {}], ['recall', { draft: true }], ['recall', { source: 1, from: -1 }],
    ['recall', { result: 'one' }], ['recall', '{']));
  const end = await whole((await research('the sea')).id);
  assert.equal(end.run.state, 'completed');
  assert.ok(end.tool_calls.slice(0, 8).every((c) => c.state === 'failed'), JSON.stringify(end.tool_calls));
  assert.equal(end.run.budget.tool_calls.used, 8);
  await assertSettled(sql);
});

test('what came from the provider\'s cache of prompts is stored and told', BOUND, async (t) => {
  const { model, research, whole, sql } = await started(t);
  const usage = (details) => ({ prompt_tokens: 100, completion_tokens: 10, total_tokens: 110, ...details });
  model.next('research', (req, reply) => reply.toolCall('note', { text: 'a' }).finish('tool_calls')
    .usage(usage({ prompt_tokens_details: { cached_tokens: 64 } })).done());
  model.next('research', (req, reply) => reply.toolCall('note', { text: 'b' }).finish('tool_calls')
    .usage(usage({ prompt_cache_hit_tokens: 96 })).done());
  const end = await whole((await research('the sea')).id);
  assert.deepEqual(end.requests.map((q) => q.usage.cached_tokens), [64, 96, null]);
  assert.equal(await sql('SELECT group_concat(COALESCE(cached_tokens, \'-\')) FROM request'), '64,96,-');
  await assertSettled(sql);
});
