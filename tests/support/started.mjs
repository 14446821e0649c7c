// started.mjs - what nearly every test of the runtime begins with: an Aside
// with a scripted model and one conversation, and short names for its calls.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';

import { eventually, startAside, temporaryDir } from './harness.mjs';
import { ScriptedModel } from './scripted-model.mjs';

const ACTIVE = ['running', 'awaiting_input'];

/** An Aside with a scripted model and one conversation. */
export async function started(t, conf = {}, more = {}) {
  const model = await ScriptedModel.start({ t });
  const aside = await startAside({ t, model, conf, ...more });
  const made = await aside.api('POST', '/conversations', {});
  assert.equal(made.status, 201, made.text);
  const conv = made.json.conversation.id;
  const send = async (body, fields = {}, options = {}) => {
    const r = await aside.api('POST', `/conversations/${conv}/messages`, { body, ...fields }, options);
    assert.equal(r.status, 202, r.text);
    return r.json;
  };
  const research = async (body, fields = {}) => (await send(body, { mode: 'background', ...fields })).run;
  const say = async (id, body, door = 'adjustments') => {
    const r = await aside.api('POST', `/runs/${id}/${door}`, { body });
    assert.equal(r.status, 202, r.text);
    return r.json;
  };
  const stop = async (id) => {
    const r = await aside.api('POST', `/runs/${id}/stop`);
    assert.equal(r.status, 202, r.text);
    return r.json.run;
  };
  const run = async (id) => (await aside.api('GET', `/runs/${id}`)).json;
  const ended = (id, ms = undefined) => aside.until((s) => {
    const r = s.runs.get(id);
    return r && !ACTIVE.includes(r.state) ? r : null;
  }, { ms, what: `${id} has ended` });
  /** Wait until the Run has ended, and read it whole. */
  const whole = async (id, ms = undefined) => {
    await ended(id, ms);
    return run(id);
  };
  const sql = async (text) => (await promisify(execFile)(
    'sqlite3', ['-cmd', '.timeout 5000', path.join(aside.dataDir, 'aside.db'), text],
    { maxBuffer: 256 << 20 })).stdout.trim();
  return { model, aside, conv, send, research, say, stop, run, ended, whole, sql };
}

/** A library of two short pages. */
export async function shelf(t) {
  const dir = await temporaryDir();
  t.after(() => rm(dir, { recursive: true, force: true }));
  await writeFile(path.join(dir, 'tides.md'),
    '# Tides\n\nThe moon pulls the water of the sea, and the tides follow the moon.\n');
  await writeFile(path.join(dir, 'salt.txt'), 'Salt\n\nRivers carry salt into the sea.\n');
  return dir;
}

/**
 * CASES G-1: in each request every call id of an assistant message is answered by
 * exactly one tool message before anything else is said.
 */
export function assertCallsAnswered(model) {
  for (const { body, n } of model.requests) {
    let open = [];
    for (const m of body.messages) {
      if (m.role === 'tool') {
        const at = open.indexOf(m.tool_call_id);
        assert.ok(at >= 0, `request ${n}: ${m.tool_call_id} is answered twice or was never made`);
        open.splice(at, 1);
        continue;
      }
      assert.deepEqual(open, [], `request ${n}: calls without an answer`);
      open = (m.tool_calls ?? []).map((call) => call.id);
      assert.equal(new Set(open).size, open.length, `request ${n}: a call id stands twice`);
    }
    assert.deepEqual(open, [], `request ${n}: calls without an answer at the end`);
  }
}

/** Wait until no request and no call that the feed has told of is under way. */
export const nothingUnderWay = (aside) => aside.until(
  (s) => [...s.requests.values(), ...s.toolCalls.values()]
    .every((e) => e.state !== 'sent' && e.state !== 'planned'),
  { what: 'nothing is under way' });

/**
 * Wait until every Run has ended and no effect is under way, as the rows have it
 * (the feed may be behind them); then what must hold of the rows. A request or a
 * call may be closed a moment after the Run it was made for.
 */
export async function assertSettled(sql, ms = undefined) {
  const none = async (what, text) => assert.equal(await sql(text), '', what);
  await eventually(async () => {
    await none('under way',
      "SELECT 'run', id, state FROM run WHERE ended_ms IS NULL" +
      " UNION ALL SELECT 'request', id, state FROM request WHERE state IN ('planned', 'sent')" +
      " UNION ALL SELECT 'call', id, state FROM tool_call WHERE state IN ('planned', 'sent')");
    return true;
  }, { ms, what: 'nothing is under way' });
  await none('slots held', 'SELECT * FROM slot');
  await none('receipts open', "SELECT id FROM handoff WHERE state = 'received'");
  await none('a research told more or less than once',
    "SELECT run.id, count(n.id) FROM run LEFT JOIN notification AS n ON n.run_id = run.id" +
    " WHERE run.kind = 'research' GROUP BY run.id HAVING count(n.id) <> 1");
  await none('parts with holes',
    "SELECT run_id, revision FROM change WHERE kind = 'answer.part'" +
    ' GROUP BY run_id, revision HAVING max(part) <> count(*) OR min(part) <> 1');
  await none('an answer that is not its parts',
    'SELECT run.id FROM run JOIN answer ON answer.run_id = run.id WHERE answer.body <> COALESCE(' +
    "(SELECT group_concat(body, '') FROM (SELECT body FROM change WHERE kind = 'answer.part'" +
    ' AND run_id = run.id AND revision = run.answer_revision ORDER BY part)), \'\')');
  await none('requests beyond the budget',
    'SELECT id, requests_used, requests_limit FROM run WHERE requests_used > requests_limit');
}

/** The messages of a research request without its reminder, which is no part of what the next one goes on from. */
export const history = (req) => (req.body.messages.at(-1).content?.startsWith('[reminder]\n')
  ? req.body.messages.slice(0, -1) : req.body.messages);
