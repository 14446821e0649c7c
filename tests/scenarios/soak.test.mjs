// soak.test.mjs - mixed load while processes are killed at random: at the end every
// receipt ever given is found, no effect was doubled, no slot is held.
//
// `make soak` runs ten minutes of it (SOAK= seconds, SEED=), `make test` one. The seed
// repeats what is done to whom, not how the processes take it.

import assert from 'node:assert/strict';
import { createHash, randomUUID } from 'node:crypto';
import { test } from 'node:test';

import { assertCallsAnswered, assertSettled, shelf, started } from '../support/started.mjs';

const SECONDS = Number(process.env.SOAK_SECONDS ?? 60);
const SEED = Number(process.env.SOAK_SEED || Date.now() % 1000000);
const PERSONS = 4;
/** A receipt comes within this, whoever is killed meanwhile. */
const RECEIPT_MS = 60000;

const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** mulberry32: the same numbers for the same seed. */
function random(seed) {
  let state = seed >>> 0;
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), state | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
  return { next, below: (n) => Math.floor(next() * n), of: (list) => list[Math.floor(next() * list.length)] };
}

/** A model of many moods: it answers, looks up, asks, fails, breaks off. */
function moody(model, chance) {
  const fail = (reply) => {
    const mood = chance.below(40);
    if (mood === 0) {
      reply.status(500);
    } else if (mood === 1) {
      reply.status(429, { 'retry-after': '1' });
    } else if (mood === 2) {
      reply.text('It breaks ');
      reply.cut();
    }
    return mood <= 2;
  };
  model.on('entry', async (req, reply) => {
    if (fail(reply)) {
      return;
    }
    if (chance.below(6) === 0 && JSON.stringify(req.body.tools ?? []).includes('start_research')) {
      reply.call(['start_research', { title: 'A matter' }]);
      return;
    }
    reply.text('An answer in ');
    await sleep(chance.below(120));
    reply.text('two parts.').finish().usage().done();
  });
  model.on('answer', (req, reply) => fail(reply) || reply.answer('It is so.'));
  model.on('research', async (req, reply) => {
    if (fail(reply)) {
      return;
    }
    await sleep(chance.below(150));
    const rounds = req.body.messages.filter((m) => m.role === 'assistant' && m.tool_calls).length;
    if (rounds > 1 + chance.below(4)) {
      reply.report('# Found\n\nThe moon pulls. [1]');
    } else if (chance.below(8) === 0 && JSON.stringify(req.body.tools ?? []).includes('"ask_user"')) {
      reply.call(['ask_user', { question: 'Which sea?' }]);
    } else {
      reply.call(['library_search', { query: chance.of(['tides moon', 'rivers salt', 'sea']) }],
        ['note', { text: `round ${rounds}` }]);
    }
  });
}

/** What was promised: receipts, each with the call that can be made again. */
class Ledger {
  constructor() {
    this.receipts = [];
    this.refused = 0;
    this.repeats = 0;
  }

  /** Call until an answer comes that is an answer. */
  async call(aside, method, where, body) {
    const key = randomUUID();
    const end = Date.now() + RECEIPT_MS;
    for (;;) {
      const reply = await aside.api(method, where, body, { key, ms: 20000 }).catch(() => null);
      if (reply !== null && reply.status < 500) {
        return this.take(reply, { method, where, body, key });
      }
      assert.ok(Date.now() < end, `${method} ${where}: no receipt within ${RECEIPT_MS} ms`);
      await sleep(50);
    }
  }

  take(reply, call) {
    assert.ok([201, 202, 404, 409, 429].includes(reply.status), `${call.method} ${call.where}: ${reply.text}`);
    if (reply.status >= 400) {
      this.refused += 1;
      return null;
    }
    const receipt = { ...call, message: reply.json.message?.id, run: reply.json.run?.id,
      handoff: reply.json.handoff?.id, conversation: reply.json.conversation?.id };
    this.receipts.push(receipt);
    return reply.json;
  }

  /** The same call again gives the same receipt. */
  async repeat(aside, receipt) {
    const { method, where, body, key } = receipt;
    const reply = await aside.api(method, where, body, { key, ms: 20000 }).catch(() => null);
    if (reply === null || reply.status >= 500) {
      return;
    }
    this.repeats += 1;
    assert.deepEqual([reply.json.replayed, reply.json.message?.id, reply.json.run?.id, reply.json.handoff?.id,
      reply.json.conversation?.id],
    [true, receipt.message, receipt.run, receipt.handoff, receipt.conversation], `${method} ${where}`);
  }
}

/** One person at work until it is over. */
async function person(aside, conv, ledger, chance, over) {
  const runs = [];
  const deeds = [
    ...Array(4).fill(async (n) => {
      const made = await ledger.call(aside, 'POST', `/conversations/${conv}/messages`, { body: `question ${n}` });
      runs.push(...made ? [made.run.id] : []);
    }),
    async (n) => {
      const made = await ledger.call(aside, 'POST', `/conversations/${conv}/messages`,
        { body: `research: matter ${n}`, mode: 'background' });
      runs.push(...made ? [made.run.id] : []);
    },
    (n) => runs.length && ledger.call(aside, 'POST', `/runs/${chance.of(runs)}/adjustments`, { body: `also ${n}` }),
    (n) => runs.length && ledger.call(aside, 'POST', `/runs/${chance.of(runs)}/reply`, { body: `the ${n}th sea` }),
    async () => {
      const made = runs.length ? await ledger.call(aside, 'POST', `/runs/${chance.of(runs)}/continue`, {}) : null;
      runs.push(...made ? [made.run.id] : []);
    },
    () => chance.below(3) === 0 && runs.length && ledger.call(aside, 'POST', `/runs/${chance.of(runs)}/stop`),
    () => ledger.receipts.length && ledger.repeat(aside, chance.of(ledger.receipts)),
  ];
  for (let n = 0; !over(); n += 1) {
    await chance.of(deeds)(n);
    await sleep(chance.below(60));
  }
}

/** Kill one process after another, and start it again, until it is over. */
async function reaper(aside, chance, over) {
  let kills = 0;
  while (!over()) {
    await sleep(1000 + chance.below(3000));
    const name = chance.of(['asided', 'asided', 'responder-1', 'responder-2', 'nginx']);
    await aside.kill(name, chance.of(['SIGKILL', 'SIGKILL', 'SIGTERM']));
    await aside.restart(name);
    kills += 1;
  }
  return kills;
}

const sha = (bytes) => createHash('sha256').update(bytes).digest('hex');

/** How often each body reached the model, against the rows that say so. */
async function assertNothingDoubled(model, sql) {
  const rows = new Map();
  for (const line of (await sql("SELECT lower(hex(body_sha256)) FROM request WHERE sent_ms IS NOT NULL")).split('\n')) {
    rows.set(line, (rows.get(line) ?? 0) + 1);
  }
  const came = new Map();
  for (const { raw } of model.requests) {
    came.set(sha(raw), (came.get(sha(raw)) ?? 0) + 1);
  }
  for (const [body, times] of came) {
    assert.ok(times <= (rows.get(body) ?? 0), `a body reached the model ${times} times, and ${rows.get(body)} rows say so`);
  }
}

/** Every receipt is found, and tells what became of it. */
async function assertKept(aside, ledger) {
  for (const r of ledger.receipts) {
    if (r.run) {
      const read = await aside.api('GET', `/runs/${r.run}`);
      assert.equal(read.status, 200, `${r.run}: ${read.text}`);
      assert.ok(['completed', 'incomplete', 'failed', 'stopped'].includes(read.json.run.state));
    }
    const reply = await aside.api(r.method, r.where, r.body, { key: r.key });
    assert.ok(reply.status < 300, reply.text);
    if (r.message) {
      assert.deepEqual([reply.json.message.id, reply.json.message.body], [r.message, r.body.body]);
    }
    if (r.handoff) {
      assert.equal(reply.json.handoff.id, r.handoff);
      assert.ok(['handed', 'not_applied'].includes(reply.json.handoff.state), JSON.stringify(reply.json.handoff));
    }
  }
}

/** The feed from its beginning: each change once, in order, to the end. */
async function assertFeedWhole(aside) {
  let after = 0;
  let count = 0;
  for (;;) {
    const { changes, next, reset } = (await aside.api('GET', `/changes?after=${after}`)).json;
    assert.equal(reset, false);
    for (const { seq } of changes) {
      assert.ok(seq > after, 'in order');
      after = seq;
      count += 1;
    }
    if (changes.length === 0) {
      assert.ok(next >= after);
      return count;
    }
    after = next;
  }
}

test('R01 R02 R16 R24 R29 whoever is killed: no receipt is lost, no effect doubled, no slot held',
  { timeout: (SECONDS + 180) * 1000 }, async (t) => {
    t.diagnostic(`SOAK_SEED=${SEED}`);
    const chance = random(SEED);
    const { model, aside, sql } = await started(t, {
      'short.limit': 8, 'background.limit': 3, 'wait.max_seconds': 5,
    }, { library: await shelf(t) });
    moody(model, chance);
    const ledger = new Ledger();
    const convs = [];
    for (let i = 0; i < PERSONS; i += 1) {
      convs.push((await ledger.call(aside, 'POST', '/conversations', { title: `Person ${i}` })).conversation.id);
    }
    const end = Date.now() + SECONDS * 1000;
    const over = () => Date.now() >= end;
    const [kills] = await Promise.all([reaper(aside, chance, over),
      ...convs.map((conv) => person(aside, conv, ledger, chance, over))]);

    // Nobody kills any more: all comes to its end by itself.
    await assertSettled(sql, 90000);
    await assertKept(aside, ledger);
    await assertNothingDoubled(model, sql);
    assertCallsAnswered(model);
    const changes = await assertFeedWhole(aside);
    t.diagnostic(`${ledger.receipts.length} receipts, ${ledger.refused} refusals, ${ledger.repeats} repeats, ` +
      `${model.requests.length} model requests, ${kills} kills, ${changes} changes`);
    assert.ok(kills >= SECONDS / 12 && ledger.receipts.length > SECONDS && ledger.repeats > 0, 'there was something to lose');
  });
