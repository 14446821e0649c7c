// The tools of these tests, tried on the real responder and on themselves: a
// harness that sees nothing would let everything pass.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import http from 'node:http';
import path from 'node:path';
import { test } from 'node:test';

import { Gate } from '../support/gate.mjs';
import { startAside } from '../support/harness.mjs';
import { holdWriteLock } from '../support/lock.mjs';
import { Program } from '../support/process.mjs';
import { ScriptedModel } from '../support/scripted-model.mjs';
import { BOUND } from '../support/patience.mjs';

/** Ask the scripted model as a runtime would; resolves to {status, text}. */
function ask(model, body) {
  return new Promise((resolve, reject) => {
    const req = http.request(`${model.url}/chat/completions`, { method: 'POST', agent: false });
    req.on('error', reject);
    req.on('response', async (res) => {
      let text = '';
      try {
        for await (const chunk of res) {
          text += chunk;
        }
        resolve({ status: res.statusCode, headers: res.headers, text });
      } catch (error) {
        reject(error);
      }
    });
    req.end(JSON.stringify(body));
    ask.last = req;
  });
}

const tool = (name) => ({ type: 'function', function: { name } });
const say = (content, ...tools) => ({
  messages: [{ role: 'user', content }], tools: tools.map(tool), stream: true,
});

test('the model answers by purpose, and scripts come before that', BOUND, async (t) => {
  const model = await ScriptedModel.start({ t });
  model.next('entry', (req, reply) => reply.text('one ').text('two').finish().usage().done());
  const scripted = await ask(model, say('hi', 'start_research', 'library_search'));
  const pieces = scripted.text.trim().split('\n\n').map((line) => line.slice(6));
  assert.equal(pieces.at(-1), '[DONE]');
  const chunks = pieces.slice(0, -1).map((piece) => JSON.parse(piece));
  assert.deepEqual(chunks.map((chunk) => chunk.choices[0]?.delta.content),
    ['one ', 'two', undefined, undefined]);
  assert.equal(chunks[2].choices[0].finish_reason, 'stop');
  assert.equal(chunks[3].usage.prompt_tokens, 100);
  assert.match((await ask(model, say('hi'))).text, /A scripted answer/);
  const report = await ask(model, say('cover msg_7', 'deliver_report', 'note'));
  assert.match(report.text, /deliver_report/);
  assert.match(report.text, /msg_7/);
  assert.deepEqual(model.requests.map((r) => r.purpose), ['entry', 'answer', 'research']);
  assert.equal(JSON.parse(model.requests[0].raw).messages[0].content, 'hi');
});

test('the model refuses, breaks, holds, and knows who hung up', BOUND, async (t) => {
  const model = await ScriptedModel.start({ t });
  model.next((req, reply) => reply.status(429, { 'retry-after': '3' }));
  const refused = await ask(model, say('a'));
  assert.equal(refused.status, 429);
  assert.equal(refused.headers['retry-after'], '3');
  model.next((req, reply) => reply.text('half').cut());
  await assert.rejects(ask(model, say('b')));
  model.next((req, reply) => reply.text('x').errorInStream({ message: 'no', code: 1 }).end());
  assert.match((await ask(model, say('c'))).text, /"error":\{"message":"no"/);
  model.next(async (req, reply) => {
    reply.text('a');
    assert.equal(await reply.hold('gate'), 'released');
    reply.answer('b');
  });
  const answer = ask(model, say('d'));
  (await model.held('gate')).release();
  assert.match((await answer).text, /"content":"b"/);
  model.next(async (req, reply) => {
    reply.head();
    assert.equal(await reply.hold('left'), 'closed');
  });
  const left = ask(model, say('e'));
  const held = await model.held('left');
  ask.last.destroy();
  await assert.rejects(left);
  await held.reply.closed;
  assert.equal(held.req.aborted, true);
});

test('a fault of a script fails the test', BOUND, async () => {
  const model = await ScriptedModel.start();
  model.next((req, reply) => reply.text('no end'));
  await assert.rejects(ask(model, say('a')));
  await assert.rejects(model.stop(), /returned without ending/);
});

test('who leaves in mid-request harms neither the model nor the gate', BOUND, async (t) => {
  const model = await ScriptedModel.start({ t });
  const gate = await Gate.open(t, model.url);
  for (const { url, server } of [model, gate]) {
    const req = http.request(`${url}/chat/completions`, {
      method: 'POST', agent: false, headers: { 'content-length': 1000 },
    });
    req.write('{');
    await once(server, 'request');
    req.destroy();
    await assert.rejects(once(req, 'close'), { code: 'ECONNRESET' });
    assert.equal((await ask({ url }, say('hi'))).status, 200);
  }
  await model.wait(() => model.cutOff === 1, 'a request that is cut off');
  assert.equal(model.requests.length, 2);
});

test('a part that dies or a sanitizer that complains is noticed', BOUND, async () => {
  const died = new Program('died', ['sh', '-c', 'exit 3']);
  await died.ended;
  assert.match(died.faults()[0], /died ended by itself/);
  const complained = new Program('complained',
    ['sh', '-c', 'echo "==1==ERROR: AddressSanitizer: heap-use-after-free" >&2; exec sleep 100']);
  await complained.logged(/AddressSanitizer/);
  await complained.kill();
  assert.match(complained.faults()[0], /a sanitizer complained/);
});

test('what is written is seen in the feed', BOUND, async (t) => {
  const aside = await startAside({ t, runtime: false });
  const created = await aside.api('POST', '/conversations', { title: 'One' });
  assert.equal(created.status, 201, created.text);
  const { id } = created.json.conversation;
  const sent = await aside.api('POST', `/conversations/${id}/messages`, { body: 'Hello?' });
  assert.equal(sent.status, 202, sent.text);
  const message = await aside.until((s) => s.messages.get(sent.json.message.id));
  assert.equal(message.body, 'Hello?');
  const run = await aside.until((s) => s.runs.get(sent.json.run.id));
  assert.equal(run.state, 'running');
  await assert.rejects(
    aside.until((s) => s.runs.get(run.id).state === 'completed', { ms: 1200 }), /not within 1200 ms/);
});

test('R17 a write waits while another program holds the lock', BOUND, async (t) => {
  const aside = await startAside({ t, runtime: false });
  const lock = await holdWriteLock(path.join(aside.dataDir, 'aside.db'), 20000);
  const waiting = aside.api('POST', '/conversations', {});
  assert.equal((await aside.api('GET', '/overview')).status, 200, 'reads go on');
  await lock.release();
  assert.equal((await waiting).status, 201);
});

test('spawn-fcgi hands a responder its socket', BOUND, async (t) => {
  const aside = await startAside({ t, runtime: false, spawnFcgi: true });
  assert.equal((await aside.api('GET', '/health')).json.status, 'ok');
});
