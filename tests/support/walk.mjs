// walk.mjs - one scenario that touches every kind of effect, walked through
// with a fault at its n-th step, for every n, and the ledger it must leave.
//
// The scenario: a research that looks something up, is adjusted while a request
// is in flight, asks the person, gets a reply and delivers its report; and a
// short answer beside it. The model answers by what a request holds, so that a
// request that is made again is answered sensibly.

import assert from 'node:assert/strict';

import { bin } from './harness.mjs';
import { Program } from './process.mjs';
import { textOf } from './scripted-model.mjs';
import { assertCallsAnswered, assertSettled, shelf, started } from './started.mjs';


/** Names of the calls that the prompt shows as made. */
const made = (body) => body.messages.flatMap((m) => m.tool_calls ?? []).map((c) => c.function.name);

export function scriptWalk(model) {
  model.on('entry', (req, reply) => reply.text('one ').text('two').finish().usage().done());
  model.on('research', async (req, reply) => {
    const calls = made(req.body);
    const text = textOf(req.body);
    if (!calls.includes('library_search')) {
      reply.text('I look.');
      reply.call(['library_search', { query: 'tides' }], ['note', { text: 'moon' }]);
    } else if (!text.includes('and salt')) {
      reply.text('I think.');
      await reply.hold('adjust');
    } else if (!calls.includes('ask_user')) {
      reply.call(['ask_user', { question: 'Which sea?' }]);
    } else {
      reply.report('# Done [1]');
    }
  });
}

/** Keeps one asided alive: each that dies is followed by the next, with the next fault. */
export class Keeper {
  constructor(aside) {
    this.aside = aside;
    this.plans = [];
    this.all = [];
    // It gives up before its Aside is taken down.
    const stop = aside.stop.bind(aside);
    aside.stop = async (options) => {
      await this.end();
      await stop(options);
    };
  }

  /** plans: environments of the asideds to come; after them come sound ones. */
  async begin(plans) {
    await this.end();
    this.over = false;
    this.plans = [...plans];
    this.all = [];
    this.launch();
  }

  launch() {
    const env = { ...this.aside.env, ...this.plans.shift() };
    const program = new Program(`asided-${this.all.length}`, [bin('asided')], { env });
    program.expected = true; // it may die; what else it did is looked at in end()
    this.aside.parts.set('asided', program);
    this.all.push(program);
    program.ended.then(() => {
      if (!this.over) {
        this.launch();
      }
    });
  }

  get current() {
    return this.all.at(-1);
  }

  /** The first one met its fault: it died, or said that a commit was made to fail. */
  get struck() {
    return this.all[0].exit !== null || /made to fail/.test(this.all[0].log);
  }

  async end() {
    this.over = true;
    const faults = this.all.flatMap((program) => program.faults());
    await Promise.all(this.all.map((program) => program.kill()));
    assert.deepEqual(faults, []);
  }
}

/** Go through it once; n makes its texts its own. Resolves to the Runs' ids. */
export async function walkOnce({ model, aside, say }, n) {
  // a conversation of its own: the prompts of one walk hold nothing of another
  const made = await aside.api('POST', '/conversations', {});
  const send = async (fields) => {
    const where = `/conversations/${made.json.conversation.id}/messages`;
    const sent = await aside.api('POST', where, fields);
    assert.equal(sent.status, 202, sent.text);
    return sent.json.run;
  };
  const r = await send({ body: `the sea ${n}`, mode: 'background' });
  const s = await send({ body: `question ${n}` });
  await model.held('adjust');
  await say(r.id, `and salt ${n}`);
  await aside.until((state) => state.runs.get(r.id)?.state === 'awaiting_input',
    { what: `${r.id} asks` });
  await say(r.id, `the north ${n}`, 'reply');
  const over = (state, id) => state.runs.get(id)?.ended_at;
  await aside.until((state) => over(state, r.id) && over(state, s.id) &&
    [...state.notifications.values()].some((x) => x.run_id === r.id),
  { what: `${r.id} and ${s.id} have ended` });
  model.holds.length = 0; // of the same request, made again
  return { research: r.id, short: s.id };
}

const used = (q) => q.usage.known ? q.usage.input_tokens + q.usage.output_tokens : q.usage.estimate;
const count = (list, wanted) => list.filter(wanted).length;

function assertRequests({ run, requests }) {
  for (const q of requests) {
    assert.ok(!['planned', 'sent'].includes(q.state), `${q.id} is left ${q.state}`);
    if (q.state === 'skipped') {
      assert.deepEqual([q.usage.known, used(q) ?? 0, q.sent_at], [true, 0, null], q.id);
    } else if (q.state === 'done') {
      assert.deepEqual([q.usage.input_tokens, q.usage.output_tokens], [100, 10]);
    } else {
      assert.ok(!q.usage.known && q.usage.estimate > 0, `${q.id}: what it used is unknown, not nothing`);
    }
    if (q.state === 'interrupted') {
      assert.equal(q.cause, 'adjustment', q.id);
    }
  }
  const sent = requests.filter((q) => q.sent_at !== null);
  assert.equal(run.budget.requests.used, sent.length);
  assert.equal(run.budget.tokens.used, sent.reduce((sum, q) => sum + used(q), 0));
  assert.equal(run.budget.tokens.unknown_requests, count(sent, (q) => !q.usage.known));
}

/** What the feed amounts to is what a read shows. */
function assertFolded(state, { run, requests, tool_calls, handoffs, sources }) {
  const folded = state.answers.get(run.id) ?? { revision: 0, part: 0, text: '' };
  assert.equal(folded.text, run.answer.body);
  assert.deepEqual([folded.revision, folded.part], [run.answer.revision, run.answer.parts]);
  const parts = state.parts.filter((p) => p.run_id === run.id);
  for (const p of parts) {
    assert.equal(count(parts, (x) => x.revision === p.revision && x.part === p.part), 1,
      `part ${p.revision}.${p.part} came twice`);
  }
  assert.equal(state.runs.get(run.id).state, run.state);
  const same = (map, list) => {
    const mine = [...map.values()].filter((x) => x.run_id === run.id);
    assert.deepEqual(new Map(mine.map((x) => [x.id, x])), new Map(list.map((x) => [x.id, x])));
  };
  same(state.requests, requests);
  same(state.toolCalls, tool_calls);
  same(state.handoffs, handoffs);
  same(state.sources, sources);
}

/** A handoff says "handed" only if the model began to answer a request that holds it. */
async function assertHanded({ aside, model }, handoff, text) {
  assert.equal(handoff.state, 'handed', text);
  const input = await aside.api('GET', `/requests/${handoff.request_id}/input`);
  assert.ok(input.text.includes(text));
  // A request that was made again has the same bytes: what tells them apart is when.
  const begun = model.requests.filter((q) => q.raw.equals(Buffer.from(input.text)))
    .map((q) => q.reply.startedAt);
  assert.ok(handoff.handed_at >= Math.min(...begun),
    `"${text}" is said to be handed before the model began to answer it`);
}

/** The whole ledger of one walk, over HTTP. */
export async function assertWalked(world, ids, n) {
  const { model, aside, run } = world;
  const deep = await run(ids.research);
  const short = await run(ids.short);
  assert.deepEqual([deep.run.state, deep.run.reason], ['completed', null]);
  assert.deepEqual([short.run.state, short.run.answer.body], ['completed', 'one two']);
  assert.equal(deep.run.answer.body, '# Done [1]');
  assert.deepEqual(deep.run.coverage.map((c) => c.status), ['covered', 'covered']);
  assertRequests(deep);
  assertRequests(short);
  // Each stage was done once: what is done is not done again.
  assert.equal(count(deep.requests, (q) => q.state === 'done'), 3);
  assert.equal(count(short.requests, (q) => q.state === 'done'), 1);
  assert.deepEqual(deep.tool_calls.map((t) => [t.name, t.state]), [
    ['library_search', 'done'], ['note', 'done'], ['ask_user', 'done'], ['deliver_report', 'done']]);
  assert.deepEqual(deep.sources.map((x) => x.n), deep.sources.map((x, i) => i + 1));
  assert.ok(deep.sources.length > 0);
  assert.equal(new Set(deep.sources.map((x) => `${x.location} ${x.text}`)).size, deep.sources.length);
  // No row was sent twice.
  for (const [text, whole] of [[`the sea ${n}"`, deep], [`question ${n}"`, short]]) {
    const seen = count(model.requests, (q) => q.raw.includes(text) &&
      (whole === short) === (q.purpose === 'entry') && q.body.messages.at(-1) !== undefined);
    assert.ok(seen <= count(whole.requests, (q) => q.sent_at !== null),
      `${seen} requests reached the model for ${whole.requests.length} rows`);
  }
  const [adjustment, reply] = deep.handoffs;
  assert.deepEqual(deep.handoffs.map((h) => h.kind), ['adjustment', 'reply']);
  await assertHanded(world, adjustment, `and salt ${n}`);
  await assertHanded(world, reply, `the north ${n}`);
  assert.equal(count([...aside.state.notifications.values()], (x) => x.run_id === ids.research), 1);
  assertFolded(aside.state, deep);
  assertFolded(aside.state, short);
}

const STEPS_MAX = 80;

/** What the second runtime dies of: it has a recovery to get wrong. */
const AGAIN = ['abort:2', 'before:2', 'abort:3', 'fail:2', 'before:4', 'abort:5'];

/**
 * Walk with the fault `${kind}:n` in that variable, for every n until nothing is
 * struck any more; fewer than `least` steps are a fault of the test.
 */
export async function walk(t, variable, kind, least) {
  const world = await started(t, {}, { library: await shelf(t), runtime: false });
  const keeper = new Keeper(world.aside);
  scriptWalk(world.model);
  let n = 1;
  for (let struck = true; struck && n <= STEPS_MAX; n++) {
    await keeper.begin([{ [variable]: `${kind}:${n}` },
      { ASIDE_FAULT_COMMIT: AGAIN[n % AGAIN.length] }]);
    try {
      await assertWalked(world, await walkOnce(world, n), n);
    } catch (error) {
      error.message = `${kind} at ${n}: ${error.message}`;
      throw error;
    }
    struck = keeper.struck;
  }
  await keeper.end();
  assert.ok(n > least, `the scenario has only ${n} steps`);
  assert.ok(n < STEPS_MAX);
  t.diagnostic(`${n - 1} steps`);
  assertCallsAnswered(world.model);
  await assertSettled(world.sql);
  assert.equal(await world.sql('PRAGMA integrity_check'), 'ok');
  assert.equal(await world.sql('PRAGMA foreign_key_check'), '');
}
