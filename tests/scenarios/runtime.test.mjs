// runtime.test.mjs - the spine over HTTP: nginx, two responders, the runtime
// and a scripted model. Each test names the rule it holds.

import assert from 'node:assert/strict';
import { readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';

import { eventually, startAside, temporaryDir } from '../support/harness.mjs';
import { holdWriteLock } from '../support/lock.mjs';
import { ScriptedModel } from '../support/scripted-model.mjs';
import { history } from '../support/started.mjs';

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

/** A library of two short pages. */
async function shelf(t) {
  const dir = await temporaryDir();
  t.after(() => rm(dir, { recursive: true, force: true }));
  await writeFile(path.join(dir, 'tides.md'),
    '# Tides\n\nThe moon pulls the water of the sea, and the tides follow the moon.\n');
  await writeFile(path.join(dir, 'salt.txt'), 'Salt\n\nRivers carry salt into the sea.\n');
  return dir;
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

test('R10 R31 R32 background skips entry; a report with sources and coverage, told once', async (t) => {
  const { model, aside, send, run, ended } = await start(t, {}, { library: await shelf(t) });
  model.next('research', (req, reply) => {
    reply.text('I search the library for tides.');
    reply.call(['library_search', { query: 'tides moon' }]);
  });
  const { run: r, message } = await send('How do tides work?', { mode: 'background' });
  assert.equal(r.kind, 'research');
  model.next('research', (req, reply) => {
    const result = JSON.parse(history(req).at(-1).content);
    assert.equal(result.passages[0].n, 1);
    reply.report(`# Tides\n\nThe moon pulls. [1]`,
      [{ id: message.id, status: 'covered', note: 'yes' }, { id: 'msg_999', status: 'partial' }]);
  });
  await ended(r.id);
  const whole = await run(r.id);
  assert.equal(whole.run.state, 'completed', JSON.stringify(whole, null, 1));
  assert.equal(whole.run.answer.body, '# Tides\n\nThe moon pulls. [1]');
  assert.deepEqual(whole.run.coverage,
    [{ source: 'request', id: message.id, status: 'covered', note: 'yes', evidence: [1] }]);
  assert.ok(whole.sources.length >= 1);
  assert.equal(whole.sources[0].n, 1);
  assert.match(whole.sources[0].location, /tides\.md$/);
  assert.equal(whole.requests.every((q) => q.purpose === 'research'), true);
  assert.deepEqual(whole.tool_calls.map((c) => [c.name, c.state]),
    [['library_search', 'done'], ['deliver_report', 'done']]);
  const md = await aside.api('GET', `/runs/${r.id}/report?format=md`);
  assert.match(md.text, /The moon pulls/);
  // R32: told once
  const notes = aside.state.changes.filter((c) => c.kind === 'notification.created');
  assert.equal(notes.length, 1);
});

test('R21 R25 an adjustment interrupts the request; handed only by the next first chunk', async (t) => {
  const { model, aside, send, run, ended } = await start(t);
  model.next('research', async (req, reply) => {
    reply.text('Thinking');
    await reply.hold('first');
  });
  model.next('research', async (req, reply) => {
    reply.head().comment();
    await reply.hold('second');
    reply.report('# Done');
  });
  const { run: r } = await send('Research the sea', { mode: 'background' });
  await model.held('first');
  const adj = await aside.api('POST', `/runs/${r.id}/adjustments`, { body: 'Also the "salt"\nin it' });
  assert.equal(adj.status, 202, adj.text);
  assert.equal(adj.json.handoff.state, 'received');
  const second = await model.held('second');
  // headers and comments do not count
  const before = await run(r.id);
  assert.equal(before.handoffs[0].state, 'received');
  assert.equal(before.requests[0].state, 'interrupted');
  assert.equal(before.requests[0].cause, 'adjustment');
  assert.equal(before.requests[0].usage.known, false);
  assert.ok(before.requests[0].usage.estimate > 0);
  second.release();
  await ended(r.id);
  const after = await run(r.id);
  assert.equal(after.handoffs[0].state, 'handed');
  assert.equal(after.handoffs[0].request_id, after.requests[1].id);
  assert.equal(after.run.state, 'completed');
  assert.equal(after.run.coverage.length, 2);
  // R11, R13: verbatim, and what is stored is what was sent
  const input = await aside.api('GET', `/requests/${after.requests[1].id}/input`);
  assert.equal(input.text, model.requests[1].raw.toString());
  const [last, reminder] = JSON.parse(input.text).messages.slice(-2);
  assert.equal(last.role, 'user');
  assert.ok(reminder.content.endsWith(`\n${adj.json.message.id}: Also the "salt" in it`), 'R14: the newest is last');
  assert.equal(last.content, `[adjustment ${adj.json.message.id}]\nAlso the "salt"\nin it`);
});

test('R24 stop ends that Run and nothing else, with the connection', async (t) => {
  const { model, aside, send, run, ended } = await start(t, { 'background.limit': 2 });
  model.on('research', async (req, reply) => {
    reply.text('x');
    if (await reply.hold(/the sea/.test(req.body.messages.at(-1).content) ? 'sea' : 'sky') === 'released') {
      reply.report('# Sky');
    }
  });
  const { run: sea } = await send('research the sea', { mode: 'background' });
  await model.held('sea');
  const { run: sky } = await send('research the sky', { mode: 'background' });
  const held = await model.held('sky');
  const stop = await aside.api('POST', `/runs/${sea.id}/stop`);
  assert.equal(stop.status, 202);
  assert.equal(stop.json.run.state, 'stopped');
  await model.wait(() => model.requests[0].aborted, 'the stopped connection to close', 1000);
  held.release();
  await ended(sky.id);
  assert.equal((await run(sky.id)).run.state, 'completed');
  await aside.until((s) => s.changes.some((c) => c.kind === 'request.updated' &&
    c.run_id === sea.id && c.request.state === 'interrupted'));
  const whole = await run(sea.id);
  assert.equal(whole.run.reason, 'stopped_by_user');
  assert.equal(whole.requests[0].state, 'interrupted');
  assert.equal(whole.requests[0].cause, 'stop');
});

test('R29 kill -9 in mid-research: the same Run goes on and completes', async (t) => {
  const { model, aside, send, run, ended } = await start(t, {}, { library: await shelf(t) });
  model.next('research', (req, reply) => reply.call(['library_search', { query: 'tides' }]));
  model.next('research', async (req, reply) => {
    reply.text('now');
    await reply.hold('dies here');
  });
  const { run: r } = await send('research tides', { mode: 'background' });
  await model.held('dies here');
  await aside.kill('asided');
  const absent = await aside.api('GET', '/health');
  assert.equal(absent.json.runtime, 'absent');
  await aside.restart('asided');
  await ended(r.id);
  const whole = await run(r.id);
  assert.equal(whole.run.state, 'completed');
  assert.deepEqual(whole.requests.map((q) => q.state), ['done', 'unknown', 'done']);
  assert.equal(whole.run.budget.tokens.unknown_requests, 1);
  assert.equal(whole.tool_calls.filter((c) => c.name === 'library_search').length, 1);
});

test('SIGTERM: requests are interrupted as shutdown and the Run goes on', async (t) => {
  const { model, aside, send, run, ended } = await start(t);
  model.next('research', async (req, reply) => {
    reply.text('now');
    await reply.hold('told to end');
  });
  const { run: r } = await send('research tides', { mode: 'background' });
  await model.held('told to end');
  await aside.restart('asided');
  await ended(r.id);
  const whole = await run(r.id);
  assert.deepEqual(whole.requests.map((q) => [q.state, q.cause]),
    [['interrupted', 'shutdown'], ['done', null]]);
});

test('R07 R12 R18 a reply may start research: same Run, lead kept, slot swapped', async (t) => {
  const { model, aside, send, run, ended } = await start(t);
  model.next('entry', (req, reply) => {
    reply.text('I will look into it.');
    reply.call(['start_research', { title: 'The sea' }]);
  });
  model.next('research', async (req, reply) => {
    reply.text('thinking');
    await reply.hold('research');
    reply.report('# The sea');
  });
  const { run: r, message } = await send('Please research the sea');
  const held = await model.held('research');
  const over = (await aside.api('GET', '/overview')).json;
  assert.deepEqual(over.occupancy, { short: { used: 0, limit: 3 }, background: { used: 1, limit: 1 } });
  // R07: with the place taken, start_research is not offered; the others are
  model.next('entry', (req, reply) => reply.answer('No place is free.'));
  const other = await send('Research the sky as well');
  await ended(other.run.id);
  const names = model.requests.at(-1).body.tools.map((x) => x.function.name);
  assert.ok(!names.includes('start_research'), names.join());
  assert.ok(names.includes('adjust_research'));
  const facts = model.requests.at(-1).body.messages.at(-2).content;
  assert.match(facts, new RegExp(`research ${r.id} \\| running \\| "The sea"`));
  assert.match(facts, /background slots: 1 of 1 used/);
  held.release();
  await ended(r.id);
  const whole = await run(r.id);
  assert.equal(whole.run.kind, 'research');
  assert.equal(whole.run.title, 'The sea');
  assert.equal(whole.run.lead, 'I will look into it.');
  assert.equal(whole.run.answer.body, '# The sea');
  assert.equal(whole.run.message_id, message.id);
  assert.deepEqual(whole.requests.map((q) => q.purpose), ['entry', 'research']);
});

test('R11 R12 an entry reply hands the message over, and may answer too', async (t) => {
  const { model, aside, send, run, ended } = await start(t);
  model.next('research', async (req, reply) => {
    reply.text('thinking');
    await reply.hold('research');
  });
  const { run: r } = await send('research tides', { mode: 'background' });
  await model.held('research');
  model.next('entry', (req, reply) => {
    reply.text('The Sharpe ratio is a ratio.');
    reply.call(['adjust_research', { run: r.id }]);
  });
  const { run: short, message } = await send('Narrow it, and explain the Sharpe ratio');
  await ended(short.id);
  assert.equal((await run(short.id)).run.answer.body, 'The Sharpe ratio is a ratio.');
  await ended(r.id);
  const whole = await run(r.id);
  assert.equal(whole.handoffs.length, 1);
  assert.equal(whole.handoffs[0].origin, 'entry');
  assert.equal(whole.handoffs[0].message_id, message.id);
  assert.equal(whole.handoffs[0].state, 'handed');
  const view = (await aside.api('GET', `/conversations/${short.conversation_id}`)).json;
  assert.deepEqual(view.messages.at(-1).handoff_ids, [whole.handoffs[0].id]);
});

test('R12 stop and inspect by words; a refused operation is told to the model', async (t) => {
  const { model, send, run, ended } = await start(t);
  model.next('research', async (req, reply) => {
    reply.text('thinking');
    await reply.hold('research');
  });
  const { run: r } = await send('research tides', { mode: 'background' });
  await model.held('research');
  model.next('entry', (req, reply) => reply.call(['inspect_research', { run: r.id }]));
  model.next('answer', (req, reply) => {
    const facts = JSON.parse(req.body.messages.at(-1).content);
    assert.equal(facts.state, 'running');
    assert.equal(req.body.tools === undefined || req.body.tool_choice === 'none', true);
    reply.answer('It is running.');
  });
  const far = await send('how far?');
  await ended(far.run.id);
  assert.equal((await run(far.run.id)).run.answer.body, 'It is running.');
  model.next('entry', (req, reply) => reply.call(['stop_research', { run: 'run_999999' }]));
  model.next('answer', (req, reply) => {
    assert.match(req.body.messages.at(-1).content, /no such research/);
    reply.answer('There is none.');
  });
  const wrong = await send('stop the other one');
  await ended(wrong.run.id);
  model.next('entry', (req, reply) => reply.call(['stop_research', { run: r.id }]));
  const stop = await send('stop it');
  await ended(r.id);
  await ended(stop.run.id);
  assert.equal((await run(r.id)).run.state, 'stopped');
});

test('R14 an answer that finished later is not seen; R09 it stands as no result yet', async (t) => {
  const { model, send, ended } = await start(t);
  model.next('entry', async (req, reply) => {
    await reply.hold('slow');
    reply.answer('Slow answer.');
  });
  const slow = await send('first question');
  const held = await model.held('slow');
  const fast = await send('second question');
  await ended(fast.run.id);
  const seen = model.requests.at(-1).body.messages.map((m) => m.content);
  assert.ok(seen.includes('(no result yet)'), seen.join('\n'));
  held.release();
  await ended(slow.run.id);
  const third = await send('third question');
  await ended(third.run.id);
  const now = model.requests.at(-1).body.messages.map((m) => m.content);
  assert.ok(now.includes('Slow answer.'));
  assert.ok(!now.includes('(no result yet)'));
});

test('R16 R17 R19 full classes refuse, replays and stops do not need a slot', async (t) => {
  const { model, aside, conv, send } = await start(t, { 'short.limit': 1 });
  model.on('entry', async (req, reply) => {
    reply.text('x');
    await reply.hold('busy');
  });
  const one = await send('one', {}, { key: 'k-one' });
  await model.held('busy');
  const full = await aside.api('POST', `/conversations/${conv}/messages`, { body: 'two' });
  assert.equal(full.status, 429);
  assert.equal(full.json.code, 'short_capacity_full');
  assert.equal(full.json.accepted, false);
  assert.equal(full.json.queued, false);
  assert.deepEqual(full.json.occupancy.short, { used: 1, limit: 1 });
  const again = await send('one', {}, { key: 'k-one' });
  assert.equal(again.replayed, true);
  assert.equal(again.run.id, one.run.id);
  assert.equal((await aside.api('POST', `/runs/${one.run.id}/stop`)).status, 202);
  await send('three');
});

test('R27 429 with Retry-After is waited out; a cut stream is retried', async (t) => {
  const { model, send, run, ended } = await start(t);
  model.next('research', (req, reply) => reply.status(429, { 'retry-after': '1' }));
  model.next('research', (req, reply) => reply.text('half').cut());
  model.next('research', (req, reply) => reply.report('# Whole'));
  const { run: r } = await send('research', { mode: 'background' });
  await ended(r.id);
  const whole = await run(r.id);
  assert.equal(whole.run.state, 'completed');
  assert.deepEqual(whole.requests.map((q) => q.state), ['failed', 'failed', 'done']);
  assert.ok(whole.requests[1].sent_at - whole.requests[0].ended_at >= 990);
  assert.equal(whole.run.budget.requests.used, 2);
});

test('R27 a short answer that broke after text is failed, with its text', async (t) => {
  const { model, send, run, ended } = await start(t);
  model.next('entry', async (req, reply) => {
    reply.text('half an ans');
    await reply.hold('text shown');
    reply.errorInStream();
    reply.end();
  });
  const { run: r } = await send('question');
  const held = await model.held('text shown');
  await new Promise((resolve) => { held.release(); resolve(); });
  await ended(r.id);
  const whole = await run(r.id);
  assert.equal(whole.run.state, 'failed');
  assert.equal(whole.run.reason, 'provider_error');
  assert.equal(whole.run.answer.body, 'half an ans');
  assert.equal(whole.run.answer.complete, false);
});

test('R26 a limit of N executes exactly N, the last one being the closeout', async (t) => {
  const { model, send, run, ended } = await start(t, { 'budget.normal.requests': 3 },
    { library: await shelf(t) });
  model.on('research', (req, reply) => reply.call(['library_search', { query: 'tides' }]));
  const { run: r } = await send('research', { mode: 'background' });
  await ended(r.id);
  const whole = await run(r.id);
  assert.equal(whole.run.state, 'incomplete');
  assert.equal(whole.run.reason, 'budget_requests');
  assert.deepEqual(whole.requests.map((q) => q.purpose), ['research', 'research', 'closeout']);
  assert.equal(whole.run.answer.body, 'A scripted closing report.');
  assert.deepEqual(whole.run.budget.requests, { used: 3, limit: 3 });
});

test('R28 a question pauses the research and a reply resumes it', async (t) => {
  const { model, aside, send, run, ended } = await start(t);
  model.next('research', (req, reply) => reply.call(['ask_user', { question: 'Which sea?' }]));
  model.next('research', (req, reply) => reply.report('# The North Sea'));
  const { run: r } = await send('research the sea', { mode: 'background' });
  await aside.until((s) => s.runs.get(r.id)?.state === 'awaiting_input');
  assert.equal((await run(r.id)).run.question, 'Which sea?');
  const reply = await aside.api('POST', `/runs/${r.id}/reply`, { body: 'The North Sea' });
  assert.equal(reply.status, 202, reply.text);
  await ended(r.id);
  const whole = await run(r.id);
  assert.equal(whole.run.state, 'completed');
  assert.equal(whole.handoffs[0].kind, 'reply');
  assert.equal(whole.handoffs[0].state, 'handed');
  assert.equal(whole.run.coverage.length, 1);
  const messages = history(model.requests.at(-1));
  assert.equal(messages.at(-1).content, `[reply ${reply.json.message.id}]\nThe North Sea`);
  assert.equal(messages.at(-2).role, 'tool');
});

test('R04 closing every connection changes no Run', async (t) => {
  const { model, aside, send, run, ended } = await start(t);
  model.next('entry', async (req, reply) => {
    reply.text('one ');
    await reply.hold('closing');
    reply.text('two').finish().usage().done();
  });
  const abort = new AbortController();
  const poll = aside.api('GET', '/changes?after=0&wait=30', undefined, { signal: abort.signal });
  const { run: r } = await send('question');
  const held = await model.held('closing');
  abort.abort();
  await poll.catch(() => {});
  held.release();
  await ended(r.id);
  const whole = await run(r.id);
  assert.equal(whole.run.answer.body, 'one two');
});

test('an endpoint that refuses the key is told by health', async (t) => {
  const { model, aside, send, run, ended } = await start(t);
  model.next('entry', (req, reply) => reply.status(401));
  const { run: r } = await send('question');
  await ended(r.id);
  assert.equal((await run(r.id)).run.reason, 'provider_error');
  await eventually(async () => (await aside.api('GET', '/health')).json.model === 'unauthorized');
});

test('R08 R15 chat beside a research neither adjusts it nor enters it', async (t) => {
  const { model, aside, send, run, ended } = await start(t, {}, { library: await shelf(t) });
  model.next('research', async (req, reply) => {
    await reply.hold('before chat');
    reply.call(['library_search', { query: 'tides' }]);
  });
  const { run: r } = await send('research tides', { mode: 'background' });
  const held = await model.held('before chat');
  model.next('entry', (req, reply) => reply.answer('Beside, unrelated: forty-two.'));
  const side = await send('What is six times seven?');
  await ended(side.run.id);
  const adj = await aside.api('POST', `/runs/${r.id}/adjustments`, { body: 'and ebb' });
  held.release();
  await ended(r.id);
  const whole = await run(r.id);
  assert.deepEqual(whole.handoffs.map((h) => h.id), [adj.json.handoff.id]);
  for (const q of model.requests.filter((x) => x.purpose === 'research')) {
    assert.ok(!q.raw.includes('forty-two') && !q.raw.includes('six times'), q.raw.toString());
  }
  const last = model.requests.filter((x) => x.purpose === 'research').at(-1);
  assert.ok(last.raw.includes('and ebb'));
});

test('R01 a commit that fails answers no receipt and stores nothing', async (t) => {
  const aside = await startAside({
    t, runtime: false, responders: 1, env: { ASIDE_FAULT_COMMIT: 'fail:2' },
  });
  const conv = (await aside.api('POST', '/conversations', {})).json.conversation.id;
  const post = () => aside.api('POST', `/conversations/${conv}/messages`, { body: 'kept?' }, { key: 'once' });
  const failed = await post();
  assert.ok(failed.status >= 500, failed.text);
  assert.equal(failed.headers['content-type'], 'application/problem+json');
  const view = (await aside.api('GET', `/conversations/${conv}`)).json;
  assert.deepEqual(view.messages, []);
  const again = await post();
  assert.equal(again.status, 202, again.text);
  assert.equal(again.json.replayed, false);
});

test('R17 a lock held for a while is waited out, for long it is busy', async (t) => {
  const { aside, conv } = await start(t, { 'db.busy_timeout_ms': 1500 });
  const file = path.join(aside.dataDir, 'aside.db');
  const post = (body) => aside.api('POST', `/conversations/${conv}/messages`, { body });
  let lock = await holdWriteLock(file, 600);
  assert.equal((await post('waited')).status, 202);
  await lock.released;
  lock = await holdWriteLock(file, 4000);
  const busy = await post('refused');
  assert.equal(busy.status, 503, busy.text);
  assert.equal(busy.json.code, 'busy');
  assert.ok(busy.headers['retry-after']);
  await lock.released;
  assert.equal((await post('again')).status, 202);
});

test('R30 an ended research is continued as a new Run that knows the old report', async (t) => {
  const { model, aside, send, run, ended } = await start(t);
  model.next('research', (req, reply) => reply.report('# The first report'));
  const { run: first } = await send('research tides', { mode: 'background' });
  await ended(first.id);
  const more = await aside.api('POST', `/runs/${first.id}/continue`, { body: 'Now the ebb' });
  assert.equal(more.status, 202, more.text);
  await ended(more.json.run.id);
  const whole = await run(more.json.run.id);
  assert.equal(whole.run.continues, first.id);
  assert.equal(whole.run.state, 'completed');
  assert.match(model.requests.at(-1).raw.toString(), /The first report/);
  const { run: short } = await send('hello');
  await ended(short.id);
  const no = await aside.api('POST', `/runs/${short.id}/continue`, {});
  assert.equal(no.status, 409);
  assert.equal(no.json.code, 'not_eligible');
});

test('the runtime alone loads libcurl, and all that libcurl brings', async (t) => {
  const aside = await startAside({ t, model: 'offline' });
  const isLoaded = async (name) =>
    (await readFile(`/proc/${aside.part(name).pid}/maps`, 'utf8')).includes('libcurl');
  assert.equal(await isLoaded('asided'), true);
  assert.equal(await isLoaded('responder-1'), false);
  assert.equal(await isLoaded('offline'), false);
});
