// races.test.mjs - two things at the same moment, a hundred times each.
//
// Where a rule says what happens if one of two comes first, both must have
// been seen to come first: a race that always goes one way shows nothing.

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';

import { assertCallsAnswered, assertSettled, started } from '../support/started.mjs';
import { BOUND } from '../support/patience.mjs';

const TIMES = 100;
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/**
 * Run round(lead) so often that both outcomes are met about equally: lead is how
 * many milliseconds `ours` starts before `theirs` (negative: after), and moves
 * towards the balance after each round. Resolves to the counts by outcome.
 */
async function race(round, { ours, theirs }, check) {
  const counts = { [ours]: 0, [theirs]: 0 };
  let lead = 0;
  for (let i = 0; i < TIMES; i++) {
    const outcome = await round(lead, i);
    assert.ok(outcome in counts, `round ${i}: ${outcome}`);
    counts[outcome]++;
    lead += outcome === ours ? -1 : 1;
  }
  assert.ok(counts[ours] > 0 && counts[theirs] > 0,
    `both must come first now and then: ${JSON.stringify(counts)}`);
  await check?.();
  return counts;
}

/** Both at once, ours earlier by lead milliseconds. */
async function together(lead, ours, theirs) {
  const mine = sleep(Math.max(0, -lead)).then(ours);
  await sleep(Math.max(0, lead));
  theirs();
  return mine;
}

/** A research whose first request stands in hold('go'); then ends as given. */
function held(model, then) {
  model.next('research', async (req, reply) => {
    reply.text('I look. ');
    if (await reply.hold('go') === 'released') {
      then(reply);
    }
  });
  return model.held('go');
}

test('R22 R23 R32 adjust against completion: handed and covered, or told that it was too late', BOUND,
  async (t) => {
    const { model, research, say, whole, sql } = await started(t);
    await race(async (lead) => {
      const ready = held(model, (reply) => reply.report('# Early'));
      const r = await research('the sea');
      const go = await ready;
      const { message, handoff } = await together(lead, () => say(r.id, 'and salt'), go.release);
      const end = await whole(r.id);
      const [h] = end.handoffs;
      assert.equal(end.handoffs.length, 1);
      assert.deepEqual([h.id, h.message_id], [handoff.id, message.id]);
      assert.equal(end.run.state, 'completed');
      if (h.state === 'handed') {
        assert.deepEqual(end.run.coverage.map((c) => c.id), [r.message_id, message.id]);
        const took = end.requests.find((q) => q.id === h.request_id);
        assert.equal(took.state, 'done');
        return 'handed';
      }
      assert.deepEqual([h.state, h.reason], ['not_applied', 'run_ended']);
      assert.equal(end.run.coverage.length, 1);
      return 'too late';
    }, { ours: 'handed', theirs: 'too late' }, () => assertSettled(sql));
    assertCallsAnswered(model);
    assert.equal(await sql('SELECT count(*) FROM message'), String(2 * TIMES), 'every message is kept');
  });

test('R22 R28 adjust against pausing: never paused past it, and resumed by it', BOUND, async (t) => {
  const { model, research, say, whole, sql } = await started(t);
  await race(async (lead) => {
    const ready = held(model, (reply) => reply.call(['ask_user', { question: 'Which sea?' }]));
    const r = await research('the sea');
    const go = await ready;
    await together(lead, () => say(r.id, 'and salt'), go.release);
    const end = await whole(r.id);
    assert.deepEqual(end.handoffs.map((h) => h.state), ['handed']);
    assert.equal(end.run.state, 'completed');
    assert.equal(end.run.coverage.length, 2);
    const asked = end.tool_calls.find((c) => c.name === 'ask_user');
    return asked?.summary === 'waiting for a reply' ? 'paused first' : 'adjusted first';
  }, { ours: 'adjusted first', theirs: 'paused first' }, () => assertSettled(sql));
  assertCallsAnswered(model);
});

test('R24 R32 stop against completion: one end, told once, the slot free', BOUND, async (t) => {
  const { model, aside, research, stop, whole, sql } = await started(t);
  await race(async (lead) => {
    const ready = held(model, (reply) => reply.report('# Done'));
    const r = await research('the sea');
    const go = await ready;
    const answered = await together(lead, () => stop(r.id), go.release);
    const end = await whole(r.id);
    assert.equal(answered.state, end.run.state, 'the receipt of a stop tells the end');
    if (end.run.state === 'completed') {
      assert.equal(end.run.answer.body, '# Done');
    } else {
      assert.equal(end.run.reason, 'stopped_by_user');
    }
    return end.run.state;
  }, { ours: 'stopped', theirs: 'completed' });
  await assertSettled(sql);
});

test('R16 fifty parallel messages against three slots: three are accepted, every time', BOUND, async (t) => {
  const { model, aside, conv, ended, sql } = await started(t);
  model.on('entry', async (req, reply) => {
    await reply.head().hold('slot');
    reply.answer('Done.');
  });
  for (let i = 0; i < TIMES; i++) {
    const replies = await Promise.all(Array.from({ length: 50 }, (_, n) => aside.api(
      'POST', `/conversations/${conv}/messages`, { body: `message ${i}.${n}` })));
    const accepted = replies.filter((r) => r.status === 202);
    const refused = replies.filter((r) => r.status === 429);
    assert.deepEqual([accepted.length, refused.length], [3, 47],
      `round ${i}: ${replies.map((r) => r.status)}`);
    for (const r of refused) {
      assert.equal(r.json.code, 'short_capacity_full');
      assert.deepEqual([r.json.accepted, r.json.queued], [false, false]);
      assert.deepEqual(r.json.occupancy.short, { used: 3, limit: 3 });
    }
    for (let n = 0; n < 3; n++) {
      (await model.held('slot')).release();
    }
    await Promise.all(accepted.map((r) => ended(r.json.run.id)));
  }
  assert.equal(await sql('SELECT count(*) FROM message'), String(3 * TIMES), 'the refused are not stored');
  await assertSettled(sql);
});

test('R02 CASES E-1 E-3: one key from twenty clients is one Run, every time', BOUND, async (t) => {
  const { model, aside, conv, sql } = await started(t, { 'short.limit': 400 });
  for (let i = 0; i < TIMES; i++) {
    const key = randomUUID();
    // Every fourth round, half of them say something else under the same key.
    const bodies = i % 4 === 3 ? ['one', 'two'] : ['one'];
    const replies = await Promise.all(Array.from({ length: 20 }, (_, n) => aside.api(
      'POST', `/conversations/${conv}/messages`, { body: bodies[n % bodies.length] }, { key })));
    const taken = replies.filter((r) => r.status === 202);
    assert.equal(taken.length, 20 / bodies.length, `round ${i}: ${replies.map((r) => r.status)}`);
    assert.equal(taken.filter((r) => !r.json.replayed).length, 1, `round ${i}`);
    assert.equal(new Set(taken.map((r) => `${r.json.run.id} ${r.json.message.id}`)).size, 1);
    for (const r of replies.filter((r) => r.status !== 202)) {
      assert.deepEqual([r.status, r.json.code], [409, 'key_reused']);
    }
  }
  const [runs, messages] = (await sql('SELECT (SELECT count(*) FROM run), (SELECT count(*) FROM message)'))
    .split('|').map(Number);
  assert.deepEqual([runs, messages], [TIMES, TIMES]);
  await model.wait(() => model.requests.length >= TIMES, `${TIMES} requests`);
  await aside.until((s) => [...s.runs.values()].filter((r) => r.state === 'completed').length === TIMES);
  assert.equal(model.requests.length, TIMES, 'a replay causes no model request');
  await assertSettled(sql);
});
