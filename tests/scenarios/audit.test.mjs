// audit.test.mjs - the audit log: every control action and every effect, who did
// it, when, to what and from where; only ever added to, and without anybody's words.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { test } from 'node:test';
import { promisify } from 'node:util';

import { bin, eventually } from '../support/harness.mjs';
import { shelf, started } from '../support/started.mjs';
import { BOUND } from '../support/patience.mjs';

const run = promisify(execFile);
const USER = { actor: 'user', actor_id: null, address: '127.0.0.1' };

/** The whole log, oldest first, read page by page as a client would. */
async function log(aside, limit = 7) {
  const lines = [];
  for (let before = ''; ;) {
    const r = await aside.api('GET', `/audit?limit=${limit}${before}`);
    assert.equal(r.status, 200, r.text);
    lines.push(...r.json.audit);
    if (!r.json.has_more) {
      return lines.reverse();
    }
    before = `&before=${r.json.audit.at(-1).id}`;
  }
}

test('every control action is in the audit log once, with who, what and from where', BOUND, async (t) => {
  const w = await started(t, {}, { library: await shelf(t) });
  const { model, aside, conv, send, say, stop, ended } = w;
  const did = async (action, ...more) => {
    const line = (await log(aside)).findLast((x) => x.action === action);
    assert.ok(line, `${action} is logged`);
    return [line.subject, line.outcome, line.actor, line.actor_id, line.address, ...more];
  };
  const by = (subject, outcome = null) => [subject, outcome, ...Object.values(USER)];

  assert.deepEqual(await did('conversation.create'), by(conv));
  // A message whose model starts a research, holds it, and is told more.
  model.next('entry', (req, reply) => reply.call(['start_research', { title: 'Secret matter' }]));
  for (const name of ['looking', 'looking on']) {
    model.next('research', async (req, reply) => {
      reply.text('I look ');
      await reply.hold(name);
    });
  }
  const key = { key: 'once' };
  const body = { body: 'Private words about tides' };
  const accepted = (await aside.api('POST', `/conversations/${conv}/messages`, body, key)).json;
  const again = (await aside.api('POST', `/conversations/${conv}/messages`, body, key)).json;
  assert.equal(again.replayed, true);
  assert.deepEqual(await did('message.send'), by(accepted.message.id));
  const id = accepted.run.id;
  await aside.until((s) => s.runs.get(id)?.kind === 'research', { what: 'it became research' });
  assert.deepEqual(await did('run.start_research'), [id, null, 'run', id, null]);
  await model.held('looking');
  await say(id, 'More private words');
  assert.deepEqual(await did('run.adjust'), by(id, 'received'));
  await model.held('looking on');
  await stop(id);
  assert.deepEqual(await did('run.stop'), by(id));
  assert.deepEqual(await did('run.end'), [id, 'stopped', 'runtime', null, null]);
  await say(id, 'Too late');
  assert.deepEqual(await did('run.adjust'), by(id, 'not_applied'));

  // A continuation that looks something up, and asks.
  model.next('research', (req, reply) => reply.call(['library_search', { query: 'tides moon' }], ['a_private_word', {}]));
  model.next('research', (req, reply) => reply.call(['ask_user', { question: 'Which sea?' }]));
  model.next('research', (req, reply) => reply.report('# Done\n\nThe moon pulls. [1]'));
  const next = (await aside.api('POST', `/runs/${id}/continue`, {})).json.run.id;
  assert.deepEqual(await did('run.continue'), by(next));
  await aside.until((s) => s.runs.get(next)?.state === 'awaiting_input', { what: 'it asks' });
  await say(next, 'The North Sea', 'reply');
  assert.deepEqual(await did('run.reply'), by(next, 'received'));
  await ended(next);

  await aside.api('PATCH', `/conversations/${conv}`, { title: 'A private title' });
  assert.deepEqual(await did('conversation.update'), by(conv));
  await aside.api('PUT', '/library/files/private-name.md', 'private text',
    { headers: { 'Content-Type': 'text/markdown' } });
  assert.deepEqual(await did('library.add'), by(null));
  await aside.api('POST', '/library/index');
  assert.deepEqual(await did('library.index'), by(null));
  await aside.api('DELETE', '/library/files/private-name.md');
  assert.deepEqual(await did('library.remove'), by(null));
  // By hand it is nobody's account's; nothing is logged where another run is at work.
  await eventually(async () => /^indexed/.test((await run(bin('aside'), ['index'], { env: aside.env })).stdout),
    { what: 'it is indexed by hand' });
  const byHand = (await run(bin('aside'), ['audit'], { env: aside.env })).stdout.split('\n').map((x) => x.split('\t').slice(1));
  assert.deepEqual(byHand.filter((x) => x[0]?.startsWith('command')),
    [[`command:${process.getuid()}`, '-', 'library.index', '-', '-', '-']]);
  await ended((await send('And one more')).run.id);
  await aside.api('DELETE', `/conversations/${conv}`);
  assert.deepEqual(await did('conversation.delete'), by(conv));

  const lines = await log(aside);
  assert.equal(lines.filter((x) => x.action === 'message.send').length, 2, 'a replay is not a second action');
  assert.equal(new Set(lines.map((x) => x.id)).size, lines.length);
  assert.doesNotMatch(JSON.stringify(lines), /rivate|Too late|North Sea|matter|tides/);
});

test('every effect is in the audit log: when it went out, and what came of it', BOUND, async (t) => {
  const { model, aside, research, whole, sql } = await started(t, {}, { library: await shelf(t) });
  model.next('research', (req, reply) => reply.call(['library_search', { query: 'tides moon' }]));
  model.next('research', (req, reply) => reply.status(500));
  const { run: r, requests, tool_calls } = await whole((await research('How do tides work?')).id);
  assert.equal(r.state, 'completed');
  const lines = await log(aside);
  for (const [action, list, what] of [['request', requests, 'purpose'], ['tool_call', tool_calls, 'name']]) {
    for (const e of list) {
      const own = lines.filter((x) => x.action === action && x.subject === e.id);
      assert.deepEqual(own.map((x) => [x.outcome, x.detail, x.actor, x.actor_id]),
        ['sent', e.state].map((state) => [state, e[what], 'run', r.id]), `${e.id} of ${action}`);
      assert.equal(own[1].at, e.ended_at);
    }
  }
  assert.ok(requests.some((q) => q.state === 'failed'), 'a failed one is among them');

  // The command line reads the same.
  const env = { ...process.env, ASIDE_DATA: aside.dataDir };
  const { stdout } = await run(bin('aside'), ['audit', '--json', '-n', '1000'], { env });
  assert.deepEqual(JSON.parse(stdout).audit.reverse(), lines);
  const text = (await run(bin('aside'), ['audit', '-a', 'me', '-n', '2'], { env })).stdout;
  assert.equal(text.trim().split('\n').length, 2);
  assert.match(text, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ\t\w/);
  await assert.rejects(run(bin('aside'), ['audit', '-a', 'nobody'], { env }), /there is no such account/);

  // Not even by hand is it changed.
  for (const change of ['DELETE FROM audit', "UPDATE audit SET actor = 'user'"]) {
    await assert.rejects(sql(change), /the audit log is only added to/);
  }
});
