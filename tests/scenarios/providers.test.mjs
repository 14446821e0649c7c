// providers.test.mjs - endpoints that differ from the reference, as the runtime
// meets them. What is a matter of bytes alone is tested in check_model_stream.c and
// check_model_chat.c; docs/providers.md names the test of each.

import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';

import { eventually } from '../support/harness.mjs';
import { assertCallsAnswered, assertSettled, started } from '../support/started.mjs';
import { BOUND } from '../support/patience.mjs';

const note = (text) => ['note', { text }];

test('an endpoint of the reference, with its moods', BOUND, async (t) => {
  const all = await started(t, { 'model.silence_timeout_ms': 60000 });
  const { model, aside, research, run, say, stop, whole, sql } = all;
  const fresh = () => model.requests.length;

  await t.test('OpenRouter pools: a bare 429 is tried again at once, once; it costs nothing', async () => {
    const from = fresh();
    model.next('research', (req, reply) => reply.status(429, {}, ''));
    const end = await whole((await research('the sea')).id);
    assert.equal(end.run.state, 'completed');
    assert.deepEqual(end.requests.map((q) => [q.state, q.usage.input_tokens]), [['failed', 0], ['done', 100]]);
    assert.equal(end.run.budget.requests.used, 1);
    const [first, second] = model.requests.slice(from);
    assert.ok(second.at - first.at >= 900, 'not without a pause');
    await assertSettled(sql);
  });

  await t.test('a used-up quota is told from a throttle: it is waited for in sight, and can be stopped', async () => {
    model.next('research', (req, reply) => reply.status(429, {}, { error: {
      message: 'You exceeded your current quota', type: 'insufficient_quota', code: 'insufficient_quota' } }));
    const r = await research('the sea');
    await aside.until((s) => s.runs.get(r.id)?.phase === 'waiting_for_provider');
    assert.match((await run(r.id)).run.progress, /exceeded your current quota/);
    await stop(r.id);
    await assertSettled(sql);
  });

  await t.test('OpenRouter, llama.cpp: an error after 200 and after text is a failure, and research tries again', async () => {
    model.next('research', (req, reply) => {
      reply.comment('OPENROUTER PROCESSING').text('I look ');
      reply.errorInStream({ code: 502, message: 'Provider returned error' }).end();
    });
    const end = await whole((await research('the sea')).id);
    assert.deepEqual(end.requests.map((q) => q.state), ['failed', 'done']);
    assert.equal(end.run.state, 'completed');
    await assertSettled(sql);
  });

  await t.test('LM Studio: success without a word is a failure, not an answer', async () => {
    model.next('research', (req, reply) => reply.delta({ role: 'assistant' }).finish('stop').done());
    const end = await whole((await research('the sea')).id);
    assert.deepEqual(end.requests.map((q) => q.state), ['failed', 'done']);
    await assertSettled(sql);
  });

  await t.test('a connection that stays open after [DONE] holds nothing up', async () => {
    model.next('research', async (req, reply) => {
      reply.toolCall('note', { text: 'a' }).finish('tool_calls').usage().raw('data: [DONE]\n\n');
      await reply.closed;
    });
    const end = await whole((await research('the sea')).id);
    assert.deepEqual(end.requests.map((q) => q.state), ['done', 'done']);
    await assertSettled(sql);
  });

  await t.test('any: a stream that ends in mid-argument was never complete, and its call never runs', async () => {
    model.next('research', (req, reply) => reply.toolCall('note', '{"text":"half').end());
    const end = await whole((await research('the sea')).id);
    assert.deepEqual(end.requests.map((q) => q.state), ['failed', 'done']);
    assert.deepEqual(end.tool_calls.map((c) => c.name), ['deliver_report']);
    await assertSettled(sql);
  });

  await t.test('Anthropic: there is one system message, the first; what is said later is said as the user', async () => {
    const from = fresh();
    model.next('research', async (req, reply) => {
      reply.text('x');
      await reply.hold('adjust');
    });
    const r = await research('the sea');
    await model.held('adjust');
    model.next('research', (req, reply) => reply.call(note('a'), note('b')));
    await say(r.id, 'and salt');
    await whole(r.id);
    for (const q of model.requests.slice(from)) {
      const roles = q.body.messages.map((m) => m.role);
      assert.equal(roles.lastIndexOf('system'), 0);
      assert.ok(!roles.includes('developer'));
    }
    const last = model.requests.at(-1).body.messages;
    assert.ok(last.some((m) => m.role === 'user' && m.content.startsWith('[adjustment ')));
    // Calls last in their message, results first after it.
    assertCallsAnswered(model);
    await assertSettled(sql);
  });

  await t.test('vLLM, Ollama Cloud: reasoning goes back under the name it came by, beside calls', async () => {
    for (const field of ['reasoning', 'reasoning_content']) {
      const from = fresh();
      model.next('research', (req, reply) => reply.delta({ [field]: 'hm' }).toolCall('note', { text: 'a' })
        .finish('stop').usage().done());
      await whole((await research('the sea')).id);
      const back = model.requests[from + 1].body.messages.find((m) => m.tool_calls);
      assert.equal(back[field], 'hm');
    }
    await assertSettled(sql);
  });

  await t.test('llama.cpp: broken arguments go back as valid JSON, or each later request would fail', async () => {
    const from = fresh();
    model.next('research', (req, reply) => reply.call(['note', '{"text":']));
    await whole((await research('the sea')).id);
    const back = model.requests[from + 1].body.messages.find((m) => m.tool_calls);
    assert.deepEqual(JSON.parse(back.tool_calls[0].function.arguments), { unparsable_arguments: '{"text":' });
    await assertSettled(sql);
  });
});

test('older llama.cpp: no tools in a stream, so that whole replies are asked for from then on', BOUND, async (t) => {
  const { model, research, send, whole, sql } = await started(t);
  const whole_ = (message, finish) => JSON.stringify({ id: 'x', object: 'chat.completion',
    choices: [{ index: 0, message: { role: 'assistant', ...message }, finish_reason: finish }],
    usage: { prompt_tokens: 10, completion_tokens: 5 } });
  model.on(({ body }) => body.stream === true && body.tools, (req, reply) => reply.status(500, {}, { error: {
    code: 500, message: 'Cannot use tools with stream', type: 'server_error' } }));
  model.next(({ body }) => !body.stream, (req, reply) => reply.status(200, {}, whole_({ content: null,
    tool_calls: [{ id: 'a', type: 'function', function: { name: 'note', arguments: '{"text":"x"}' } }] }, 'tool_calls')));
  model.next(({ body }) => !body.stream, (req, reply) => reply.status(200, {}, whole_({ content: null,
    tool_calls: [{ id: 'b', type: 'function', function: { name: 'deliver_report',
      arguments: '{"report":"# Whole","coverage":[]}' } }] }, 'tool_calls')));
  const end = await whole((await research('the sea')).id);
  assert.equal(end.run.answer.body, '# Whole');
  assert.deepEqual(end.requests.map((q) => q.state), ['failed', 'done', 'done']);
  assert.deepEqual(model.requests.map((q) => q.body.stream === true), [true, false, false]);
  assert.equal(model.requests[1].body.stream_options, undefined);
  // It is remembered: a short answer asks rightly at once.
  model.next(({ body }) => !body.stream, (req, reply) => reply.status(200, {}, whole_({ content: 'Hello.' }, 'stop')));
  const short = await whole((await send('Hi')).run.id);
  assert.equal(short.run.answer.body, 'Hello.');
  assert.deepEqual(short.requests.map((q) => q.state), ['done']);
  await assertSettled(sql);
});

test('Ollama: an input whose front was dropped is noticed', BOUND, async (t) => {
  const { model, aside, send, whole } = await started(t, { 'model.context_tokens': 100000 });
  model.next('entry', (req, reply) => reply.answer('So it is.', { prompt_tokens: 2048, completion_tokens: 3 }));
  const { run: r } = await send('sea '.repeat(12000));
  await whole(r.id);
  await eventually(async () => /drops the front; see model\.context_tokens/.test(aside.parts.get('asided').log),
    { what: 'the warning' });
});

test('DeepSeek: reasoning_content stands beside calls, empty where none came', BOUND, async (t) => {
  const { model, research, whole, sql } = await started(t, { 'model.name': 'deepseek-reasoner' });
  model.next('research', (req, reply) => reply.call(note('a')));
  model.next('research', (req, reply) => reply.delta({ reasoning_content: 'hm' }).toolCall('note', { text: 'b' })
    .finish('tool_calls').usage().done());
  await whole((await research('the sea')).id);
  const back = model.requests.at(-1).body.messages.filter((m) => m.tool_calls);
  assert.deepEqual(back.map((m) => m.reasoning_content), ['', 'hm']);
  await assertSettled(sql);
});

test('Mistral: call ids of nine letters, the same at the call and at its result', BOUND, async (t) => {
  const { model, research, whole, sql } = await started(t, { 'model.name': 'mistral-small' });
  model.next('research', (req, reply) => reply.call(note('a'), note('b')));
  await whole((await research('the sea')).id);
  const ids = model.requests.at(-1).body.messages.flatMap((m) => m.tool_calls ?? []).map((c) => c.id);
  assert.equal(new Set(ids).size, 2);
  assert.ok(ids.every((id) => /^[A-Za-z0-9]{9}$/.test(id)), ids.join());
  // Nor does a message of the person follow a result, or another of theirs: the reminder is bridged as well.
  for (const { body } of model.requests) {
    const roles = body.messages.map((m) => m.role);
    assert.ok(!roles.some((role, i) => role === 'user' && ['tool', 'user'].includes(roles[i - 1])), roles.join());
  }
  assert.match(model.requests.at(-1).body.messages.at(-1).content, /^\[reminder\]\n/);
  assertCallsAnswered(model);
  await assertSettled(sql);
});

test('docs/providers.md: each row names a test that there is', async () => {
  const root = new URL('../../', import.meta.url);
  const rows = (await readFile(new URL('docs/providers.md', root), 'utf8')).split('\n')
    .map((line) => /\| `([\w.-]+)`: (.+) \|$/.exec(line)).filter(Boolean);
  assert.ok(rows.length > 30, `${rows.length} rows`);
  for (const [, file, name] of rows) {
    const folder = file.endsWith('.c') ? 'tests/' : 'tests/scenarios/';
    const text = (await readFile(new URL(folder + file, root), 'utf8')).replaceAll("\\'", "'");
    assert.ok(text.includes(name), `${file} has no test "${name}"`);
  }
});
