// attack-responder-walk.test.mjs - the responder dies, or its disk fails, at commit
// after commit of everything that can be written over HTTP; each write is sent
// again under its key, and the ledger is counted.

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';

import { startWriting } from '../support/writing.mjs';
import { BOUND } from '../support/patience.mjs';

/** The commits of one walk: what each step of it writes. */
const STEPS = [
  ['conversation', () => ['POST', '/conversations', { title: 'walk' }]],
  ['short', (ids) => ['POST', `/conversations/${ids.conversation}/messages`, { body: 'short' }]],
  ['research', (ids) => ['POST', `/conversations/${ids.conversation}/messages`,
    { body: 'research', mode: 'background' }]],
  ['adjustment', (ids) => ['POST', `/runs/${ids.research}/adjustments`, { body: 'adjust' }]],
  ['reply', (ids) => ['POST', `/runs/${ids.research}/reply`, { body: 'reply' }]],
  ['stop research', (ids) => ['POST', `/runs/${ids.research}/stop`, {}]],
  ['continue', (ids) => ['POST', `/runs/${ids.research}/continue`, { body: 'continue' }]],
  ['late adjustment', (ids) => ['POST', `/runs/${ids.research}/adjustments`, { body: 'late' }]],
  ['stop short', (ids) => ['POST', `/runs/${ids.short}/stop`, {}]],
  ['stop continued', (ids) => ['POST', `/runs/${ids.continue}/stop`, {}]],
  ['rename', (ids) => ['PATCH', `/conversations/${ids.conversation}`, { title: 'walked' }]],
  ['other conversation', () => ['POST', '/conversations', { title: 'gone' }]],
  ['delete', (ids) => ['DELETE', `/conversations/${ids['other conversation']}`]],
];

/** The thing that a reply names, by which the next steps go on. */
const idOf = (json) => (json.run ?? json.handoff ?? json.conversation ?? {}).id;

/** Everything that a step may change, as one text. */
const everything = (sql) => sql(`SELECT (SELECT count(*) FROM conversation), (SELECT count(*) FROM message),
  (SELECT group_concat(state) FROM run), (SELECT group_concat(state) FROM handoff), (SELECT count(*) FROM slot),
  (SELECT count(*) FROM idempotency), (SELECT max(seq) FROM change), (SELECT group_concat(title) FROM conversation)`);

/**
 * Walk the steps; the fault strikes at the one numbered at, if any. again() is called
 * between it and its repetition, and tells whether it was committed. Resolves to
 * the ids, and what was said.
 */
async function walk({ aside, sql }, at, again) {
  const ids = {};
  const said = [];
  for (const [n, [name, call]] of STEPS.entries()) {
    if (name === 'reply') { // as the runtime would, if there were one
      await sql(`UPDATE run SET state = 'awaiting_input', question = 'Which?', waiting_since_ms = 1
        WHERE 'run_' || id = '${ids.research}'`);
    }
    const [method, where, body] = call(ids);
    const key = randomUUID();
    const say = () => aside.api(method, where, body, { headers: { 'idempotency-key': key } });
    const before = n === at ? await everything(sql) : '';
    let reply = await say();
    if (n === at) {
      assert.ok(reply.status >= 500, `${name}: ${reply.status}`);
      const stored = await again();
      assert.equal(await everything(sql) !== before, stored, `${name}: only what was committed is there`);
      reply = await say();
      assert.equal(reply.json?.replayed, stored, `${name}: ${reply.text}`);
    }
    assert.ok(reply.status >= 200 && reply.status < 300, `${name}: ${reply.status} ${reply.text}`);
    ids[name] = idOf(reply.json);
    said.push({ name, say, status: reply.status, id: ids[name] });
  }
  return { ids, said };
}

/** Everything that was said, once more: the same answers, and nothing changes. */
async function assertReplays(sql, said) {
  const before = await everything(sql);
  for (const { name, say, status, id } of said) {
    const reply = await say();
    if (name === 'other conversation') {
      assert.equal(reply.status, 404); // it was deleted since
      continue;
    }
    assert.equal(reply.json.replayed, true, `${name}: ${reply.text}`);
    assert.equal(reply.status, status, reply.text);
    assert.equal(idOf(reply.json), id);
  }
  assert.equal(await everything(sql), before);
}

/** The whole ledger of one walk: each thing once. */
async function assertLedger(sql, { ids }) {
  const conv = `'${ids.conversation}' = 'conv_' || `;
  assert.equal(await sql(`SELECT group_concat(body) FROM (SELECT body FROM message
    WHERE ${conv} conversation_id ORDER BY id)`), 'short,research,adjust,reply,continue,late');
  assert.equal(await sql(`SELECT group_concat(kind || ' ' || state || ' ' || reason) FROM (SELECT * FROM run
    WHERE ${conv} conversation_id ORDER BY id)`),
  'short stopped stopped_by_user,research stopped stopped_by_user,research stopped stopped_by_user');
  assert.equal(await sql(`SELECT group_concat(handoff.kind || ' ' || origin || ' ' || handoff.state) FROM (
    SELECT handoff.* FROM handoff JOIN run ON run.id = run_id WHERE ${conv} conversation_id
    ORDER BY handoff.id) AS handoff`),
  // two that the stop overtook, which the continuation took as its own, and a late one
  ['adjustment panel', 'reply panel', 'adjustment continuation', 'reply continuation', 'adjustment panel']
    .map((what) => `${what} not_applied`).join(','));
  assert.equal(await sql(`SELECT count(*) FROM change WHERE kind = 'message.created' AND ${conv} conversation_id`), '6');
  assert.equal(await sql(`SELECT count(*) FROM change WHERE kind = 'run.created' AND ${conv} conversation_id`), '3');
  assert.equal(await sql(`SELECT title FROM conversation WHERE ${conv} id`), 'walked');
  assert.equal(await sql("SELECT count(*) FROM conversation WHERE title = 'gone'"), '0');
  assert.equal(await sql('SELECT * FROM slot'), '', 'no slot is held that is not needed');
  assert.equal(await sql(`SELECT count(*) FROM notification`), await sql(
    "SELECT count(*) FROM run WHERE kind = 'research'"));
}

for (const kind of ['abort', 'fail']) {
  test(`R01 R02 CASES E-4: ${kind} at commit after commit of what is written over HTTP`, BOUND, async (t) => {
    const world = await startWriting(t, { responders: 1 });
    const said = [];
    for (let at = 0; at < STEPS.length; at++) { // each step is one commit
      await world.swap('responder-1', { env: { ASIDE_FAULT_COMMIT: `${kind}:${at + 1}` } });
      const done = await walk(world, at, async () => {
        if (kind !== 'fail') {
          await world.aside.part('responder-1').ended;
          await world.swap('responder-1');
        }
        return kind === 'abort';
      });
      await assertLedger(world.sql, done);
      said.push(...done.said);
    }
    await assertReplays(world.sql, said);
  });
}

for (const kind of ['abort', 'before']) {
  test(`R02 ${kind} at commit after commit of one responder is made good by the other`, BOUND, async (t) => {
    const world = await startWriting(t);
    let deaths = -1;
    let mortal;
    do {
      deaths++;
      mortal = await world.swap('responder-1', { env: { ASIDE_FAULT_COMMIT: `${kind}:${deaths + 1}` } });
      const done = await walk(world); // nobody but nginx says anything again
      await assertLedger(world.sql, done);
    } while (mortal.exit !== null);
    assert.ok(deaths >= 5, `${deaths} deaths`);
  });
}
