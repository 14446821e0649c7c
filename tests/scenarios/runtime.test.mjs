// runtime.test.mjs - the spine over HTTP: nginx, two responders, the runtime
// and a scripted model. Each test names the rule it holds.

import assert from 'node:assert/strict';
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';

import { startAside } from '../support/harness.mjs';
import { ScriptedModel, textOf } from '../support/scripted-model.mjs';

/** An Aside with a scripted model and one conversation. */
async function start(t, conf = {}, more = {}) {
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
  const run = async (id) => (await aside.api('GET', `/runs/${id}`)).json;
  const ended = (id) => aside.until((s) => {
    const r = s.runs.get(id);
    return r && !['running', 'awaiting_input'].includes(r.state) ? r : null;
  });
  return { model, aside, conv, send, run, ended };
}

test('R06 an ordinary message is one request and one answer', async (t) => {
  const { model, send, run, ended } = await start(t);
  const { run: r } = await send('What is WAL?');
  assert.equal(r.kind, 'short');
  await ended(r.id);
  const whole = await run(r.id);
  assert.equal(whole.run.state, 'completed');
  assert.equal(whole.run.answer.body, 'A scripted answer.');
  assert.equal(whole.run.answer.complete, true);
  assert.equal(whole.requests.length, 1);
  assert.equal(whole.requests[0].purpose, 'entry');
  assert.equal(whole.requests[0].usage.known, true);
  assert.equal(model.requests.length, 1);
  const last = model.requests[0].body.messages.at(-1);
  assert.deepEqual(last, { role: 'user', content: 'What is WAL?' });
});
