// timeline.test.mjs - what a Run did when, as rows of stretches.
import assert from 'node:assert/strict';
import { test } from 'node:test';

import { atWork, cacheUse, events } from '../../static/js/timeline.js';
import { subjectOf } from '../../static/js/words.js';
import { handoff, run } from './things.mjs';

const entry = (value) => ({ at: 1, value });
const request = (fields) => entry({ id: 'req_1', run_id: 'run_1', purpose: 'research', state: 'done',
  cause: null, sent_at: 1100, ended_at: 2000, ...fields });
const call = (fields) => entry({ id: 'call_1', run_id: 'run_1', request_id: 'req_1', name: 'library_search',
  arguments: '{}', state: 'done', cause: null, summary: '', error: null, started_at: 2100,
  ended_at: 2200, ...fields });
const details = (fields) => ({ loaded: true, requests: [], calls: [], sources: [], ...fields });

test('requests, look-ups, waiting and handoffs have a row each; an empty row is left out', () => {
  const r = run({ created_at: 1000 });
  const { rows, from, to } = events(r, details({
    requests: [request({ state: 'interrupted', cause: 'adjustment' }), request({ id: 'req_2', purpose: 'closeout',
      sent_at: 4000, ended_at: null, state: 'sent' })],
    calls: [call(), call({ id: 'call_2', name: 'ask_user', started_at: 2500, ended_at: 3500 })],
  }), [handoff({ created_at: 1500, handed_at: 4100, state: 'handed' }),
    handoff({ id: 'hand_2', created_at: 4500 })], 5000);
  assert.deepEqual([from, to], [1000, 5000]);
  assert.deepEqual(rows.map((row) => [row.name, row.items.map((i) => i.id)]), [
    ['requests', ['req_1', 'req_2']], ['calls', ['call_1']], ['waiting', ['call_2']],
    ['handoffs', ['hand_1', 'hand_2']]]);
  const [[first, closing], , , [handed, open]] = rows.map((row) => row.items);
  assert.deepEqual([first.state, first.cause, first.what], ['interrupted', 'adjustment', 'request']);
  assert.deepEqual([closing.what, closing.end], ['closeout', null]);
  assert.deepEqual([handed.start, handed.end, handed.point], [1500, 4100, false]);
  assert.equal(open.point, true);
  assert.deepEqual(events(r, undefined, [], 5000).rows, []);
});

test('what never left has no stretch, and no time is shorter than a second', () => {
  const { rows, from, to } = events(run({ created_at: 1000 }), details({
    requests: [request({ state: 'skipped', sent_at: null })],
    calls: [call({ state: 'skipped', started_at: null, ended_at: 1200 })],
  }), [], 1001);
  assert.deepEqual([rows, from, to], [[], 1000, 2000]);
});

test('time at work goes on between two steps, and leaves out the waiting', () => {
  const budget = { seconds: { used: 2, limit: 900 } };
  const r = run({ state: 'running', created_at: 1000, started_at: 1000, budget });
  const sent = details({ requests: [request({ sent_at: 3000, ended_at: null, state: 'sent' })] });
  assert.equal(atWork(r, sent, 3500), 2);
  assert.equal(atWork(r, sent, 8200), 7);
  // The server has told of more since: nothing is counted twice.
  const later = { ...r, budget: { seconds: { used: 6, limit: 900 } } };
  assert.equal(atWork(later, sent, 8200), 7);
  const asked = details({ ...sent, calls: [call({ name: 'ask_user', started_at: 1500, ended_at: 2900 })] });
  assert.equal(atWork(later, asked, 8200), 6, 'never less than the server tells');
  assert.equal(atWork(r, asked, 8200), 5);
  assert.equal(atWork({ ...r, state: 'completed' }, sent, 99000), 2);
  assert.equal(atWork(r, details({}), 99000), 2);
  assert.equal(atWork(r, sent, 9990000), 900, 'never more than its limit');
});

test('what came from the cache counts over the requests that tell of it', () => {
  const used = (input_tokens, cached_tokens) => request({ usage: { known: input_tokens !== null, input_tokens,
    output_tokens: 1, cached_tokens, estimate: 0 } });
  assert.equal(cacheUse(undefined), null);
  assert.equal(cacheUse(details({ requests: [used(100, null), used(null, null), request()] })), null);
  assert.deepEqual(cacheUse(details({ requests: [used(100, 0), used(300, 200), used(1000, null)] })),
    { cached: 200, input: 400 });
});

test('the subject of a call is told of arguments that are cut short, wherever that is', () => {
  const of = (text, cut = true) => subjectOf(call({ arguments: text, arguments_cut: cut }).value);
  for (const [text, subject] of [['{"query":"tides and', 'tides and'], ['{"query":"a\\"b\\u00', 'a"b'],
    ['{"query":"c\\', 'c'], ['{"query":"tides","n":[1,2', 'tides'], ['{ "a\\"b" : "x"}', 'x'], ['{"n":[1,2', ''], ['{"qu', '']]) {
    assert.equal(of(text), subject, text);
  }
  assert.equal(of('{"query":"whole"}', false), 'whole');
  assert.equal(of('{"query":"broken', false), '');
});
