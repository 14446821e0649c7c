// What comes over HTTP, good and bad: every wrong input gets its problem
// document, nothing is stored, and the responders live on.

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import net from 'node:net';
import path from 'node:path';
import { test } from 'node:test';

import { eventually, lookForLeaks, startAside } from '../support/harness.mjs';
import { BOUND } from '../support/patience.mjs';

lookForLeaks();

/** An Aside without runtime: what is accepted stays as it is. */
const start = (t, options = {}) => startAside({ t, runtime: false, ...options });

function assertProblem(reply, status, code) {
  assert.equal(reply.status, status, reply.text);
  assert.match(reply.headers['content-type'], /^application\/problem\+json/);
  assert.equal(reply.json.status, status);
  assert.equal(reply.json.code, code, reply.text);
  assert.ok(reply.json.title.length > 0);
  assert.ok(reply.json.detail.length > 0);
}

async function conversation(aside, options) {
  const reply = await aside.api('POST', '/conversations', {}, options);
  assert.equal(reply.status, 201, reply.text);
  return reply.json.conversation;
}

/** Wait until n polls were parked, in both responders together. */
const parked = (aside, n) => eventually(() => {
  const logs = [...aside.parts.values()].map((program) => program.log).join('');
  return logs.split('a poll is parked').length - 1 >= n;
}, { what: `${n} polls are parked` });

/** Change nginx.conf of a running Aside, and start nginx with it. */
async function withNginx(aside, from, to) {
  const file = path.join(aside.dir, 'nginx.conf');
  const text = await readFile(file, 'utf8');
  assert.ok(text.includes(from));
  await writeFile(file, text.replace(from, to));
  await aside.restart('nginx');
}

/** Bytes as they are to nginx; everything that comes back. */
function raw(port, bytes) {
  return new Promise((resolve, reject) => {
    const socket = net.connect(port, '127.0.0.1', () => socket.write(bytes));
    let text = '';
    socket.setEncoding('utf8').on('data', (chunk) => { text += chunk; });
    socket.on('end', () => resolve(text)).on('error', reject);
  });
}

test('health and overview tell a fresh Aside', BOUND, async (t) => {
  const aside = await start(t);
  const health = await aside.api('GET', '/health');
  assert.equal(health.status, 200);
  assert.equal(health.json.status, 'ok');
  assert.equal(health.json.runtime, 'absent');
  assert.equal(health.json.model, 'unknown');
  assert.equal(health.json.offline, false);
  assert.equal(health.headers['cache-control'], 'no-store');
  assert.equal(health.headers['x-content-type-options'], 'nosniff');

  const overview = await aside.api('GET', '/overview');
  assert.deepEqual(overview.json, {
    as_of: 0, feed: health.json.feed, account: 'me', access: { tokens: false, scope: 'admin', session: null },
    limits: { short: 3, background: 1 },
    occupancy: { short: { used: 0, limit: 3 }, background: { used: 0, limit: 1 } },
    conversations: [], runs: [], notifications: [], tools: [],
  });
});

test('HEAD is GET without the body', BOUND, async (t) => {
  const aside = await start(t);
  const get = await aside.api('GET', '/health');
  const head = await aside.api('HEAD', '/health');
  assert.equal(head.status, 200);
  assert.equal(head.text, '');
  assert.equal(head.headers['content-length'], String(Buffer.byteLength(get.text)));
});

test('a conversation is made, named, read and deleted', BOUND, async (t) => {
  const aside = await start(t);
  const { id } = await conversation(aside);
  const named = await aside.api('PATCH', `/conversations/${id}`, { title: 'Überschrift' });
  assert.equal(named.json.conversation.title, 'Überschrift');
  const sent = await aside.api('POST', `/conversations/${id}/messages`, { body: ' two\nlines ' });
  assert.equal(sent.status, 202);
  assert.equal(sent.json.message.body, ' two\nlines ');
  assert.equal(sent.json.message.role, 'user');
  assert.equal(sent.json.run.message_id, sent.json.message.id);
  assert.equal(sent.json.replayed, false);

  const read = await aside.api('GET', `/conversations/${id}`);
  assert.deepEqual(read.json.messages, [sent.json.message]);
  assert.equal(read.json.runs[0].id, sent.json.run.id);
  assert.equal(read.json.has_more, false);
  assert.equal(read.json.conversation.active_runs, 1);
  assert.ok(read.json.as_of >= sent.json.as_of);
  assert.equal(read.json.feed, sent.json.feed);

  assertProblem(await aside.api('DELETE', `/conversations/${id}`), 409, 'run_active');
  const stopped = await aside.api('POST', `/runs/${sent.json.run.id}/stop`);
  assert.equal(stopped.status, 202);
  assert.equal(stopped.json.run.state, 'stopped');
  assert.equal(stopped.json.run.reason, 'stopped_by_user');
  assert.equal((await aside.api('DELETE', `/conversations/${id}`)).status, 200);
  assertProblem(await aside.api('GET', `/conversations/${id}`), 404, 'not_found');
  const changes = await aside.api('GET', '/changes?after=0');
  assert.equal(changes.json.changes.at(-1).kind, 'conversation.deleted');
});

test('older messages come page by page, with what belongs to them', BOUND, async (t) => {
  const aside = await start(t, { conf: { 'short.limit': 20 } });
  const { id } = await conversation(aside);
  const sent = [];
  for (let n = 0; n < 7; n++) {
    sent.push((await aside.api(
      'POST', `/conversations/${id}/messages`, { body: `question ${n}` })).json);
  }
  const seen = [];
  let before = '';
  for (let page = 0; page < 4; page++) {
    const { json } = await aside.api('GET', `/conversations/${id}?limit=3${before}`);
    assert.deepEqual(json.runs.map((run) => run.message_id), json.messages.map((m) => m.id));
    seen.unshift(...json.messages.map((message) => message.id));
    if (!json.has_more) {
      break;
    }
    before = `&before=${json.messages[0].id}`;
  }
  assert.deepEqual(seen, sent.map(({ message }) => message.id));

  const first = await aside.api('GET', '/runs?limit=4');
  assert.equal(first.json.has_more, true);
  const rest = await aside.api('GET', `/runs?limit=4&before=${first.json.runs.at(-1).id}`);
  assert.equal(rest.json.has_more, false);
  assert.deepEqual(
    [...first.json.runs, ...rest.json.runs].map((run) => run.id),
    sent.map(({ run }) => run.id).reverse());
  const none = await aside.api('GET', '/runs?state=completed&kind=research');
  assert.deepEqual(none.json.runs, []);
});

const BODIES = [
  ['nothing', '', 422, 'invalid_field'],
  ['no JSON', '{"body":', 400, 'invalid_json'],
  ['something after the end', '{"body":"a"} x', 400, 'invalid_json'],
  ['an array', '["body"]', 400, 'not_an_object'],
  ['a number', '7', 400, 'not_an_object'],
  ['a member twice', '{"body":"a","body":"b"}', 400, 'duplicate_member'],
  ['an escaped NUL', '{"body":"a\\u0000b"}', 400, 'invalid_json'],
  ['a NUL byte', Buffer.from('{"body":"a\0b"}'), 400, 'invalid_json'],
  ['invalid UTF-8', Buffer.from('{"body":"\xff\xfe"}', 'latin1'), 400, 'invalid_json'],
  ['a lone surrogate', '{"body":"\\ud800"}', 400, 'invalid_json'],
  ['deep nesting', `{"body":${'['.repeat(5000)}${']'.repeat(5000)}}`, 400, 'invalid_json'],
  ['a body of another type', '{"body":7}', 422, 'invalid_field'],
  ['an empty body', '{"body":""}', 422, 'invalid_field'],
  ['white space alone', '{"body":" \\n\\t"}', 422, 'invalid_field'],
  ['no body', '{}', 422, 'invalid_field'],
  ['null', '{"body":null}', 422, 'invalid_field'],
  ['a field that nobody knows', '{"body":"a","boddy":"b"}', 422, 'invalid_field'],
  ['a mode that nobody knows', '{"body":"a","mode":"fast"}', 422, 'invalid_field'],
  ['a depth of another type', '{"body":"a","depth":true}', 422, 'invalid_field'],
  ['an unknown policy', '{"body":"a","missing_info":"guess"}', 422, 'invalid_field'],
  ['a message too long', JSON.stringify({ body: 'x'.repeat(65537) }), 413, 'message_too_large'],
];

test('every bad body gets its problem, and stores nothing', BOUND, async (t) => {
  const aside = await start(t);
  const { id } = await conversation(aside);
  const before = await aside.api('GET', `/conversations/${id}`);
  for (const [name, body, status, code] of BODIES) {
    const key = randomUUID();
    const reply = await aside.api('POST', `/conversations/${id}/messages`, body, { key });
    await t.test(name, () => assertProblem(reply, status, code));
  }
  const after = await aside.api('GET', `/conversations/${id}`);
  assert.deepEqual(after.json, before.json);
  const longest = await aside.api(
    'POST', `/conversations/${id}/messages`, { body: 'x'.repeat(65536) });
  assert.equal(longest.status, 202);
});

test('what is too large is refused by nginx and by the responder alike', BOUND, async (t) => {
  const aside = await start(t);
  const { id } = await conversation(aside);
  const large = JSON.stringify({ body: 'x'.repeat(2 * 1024 * 1024) });
  const where = `/conversations/${id}/messages`;
  assertProblem(await aside.api('POST', where, large), 413, 'body_too_large');
  await withNginx(aside, 'client_max_body_size 256k', 'client_max_body_size 16m');
  for (let n = 0; n < 5; n++) {
    assertProblem(await aside.api('POST', where, large), 413, 'body_too_large');
  }
  const limit = `{"body":"a"${' '.repeat(256 * 1024 - 12)}}`;
  assert.equal(Buffer.byteLength(limit), 256 * 1024);
  assert.equal((await aside.api('POST', where, limit)).status, 202);
  assertProblem(await aside.api('POST', where, `${limit} `), 413, 'body_too_large');
});

test('R02 the key must be there and well-formed', BOUND, async (t) => {
  const aside = await start(t);
  const { id } = await conversation(aside);
  const where = `/conversations/${id}/messages`;
  const send = (key) => aside.api('POST', where, { body: 'a' }, { key });
  assertProblem(await send(null), 428, 'key_missing');
  assertProblem(await send('with space'), 422, 'invalid_key');
  assertProblem(await send('k\u00e9y'), 422, 'invalid_key');
  assertProblem(await send('k'.repeat(256)), 422, 'invalid_key');
  assert.equal((await send('k'.repeat(255))).status, 202);
  assert.equal((await send('!"~')).status, 202);
});

test('R02 a key stands for method, path and fields with their defaults', BOUND, async (t) => {
  const aside = await start(t);
  const { id } = await conversation(aside);
  const other = await conversation(aside);
  const where = `/conversations/${id}/messages`;
  const key = 'one-key';
  const first = await aside.api('POST', where, { body: 'a' }, { key });
  const again = await aside.api(
    'POST', where, '{ "missing_info":"ask", "depth":null, "mode":"auto", "body":"\\u0061" }',
    { key });
  assert.equal(again.status, 202);
  assert.equal(again.json.replayed, true);
  assert.equal(again.json.run.id, first.json.run.id);
  assert.equal(again.json.message.id, first.json.message.id);
  for (const fields of [{ body: 'b' }, { body: 'a', mode: 'background' },
    { body: 'a', missing_info: 'fail' }]) {
    assertProblem(await aside.api('POST', where, fields, { key }), 409, 'key_reused');
  }
  assertProblem(
    await aside.api('POST', `/conversations/${other.id}/messages`, { body: 'a' }, { key }),
    409, 'key_reused');
  assertProblem(await aside.api('POST', '/conversations', {}, { key }), 409, 'key_reused');
  const { json } = await aside.api('GET', `/conversations/${id}`);
  assert.equal(json.messages.length, 1);
});

test('R02 what is answered at once is what is stored', BOUND, async (t) => {
  const aside = await start(t, { conf: { 'short.limit': 9, 'background.limit': 9 } });
  const { id } = await conversation(aside);
  for (const fields of [{ body: ' \u00e9 "quoted"\nand more ' }, { body: 'x'.repeat(300) },
    { body: 'b', mode: 'background', missing_info: 'fail' }, { body: 'd', depth: 'deep' }]) {
    const key = `stored-${fields.body.slice(0, 1).codePointAt(0)}`;
    const send = () => aside.api('POST', `/conversations/${id}/messages`, fields, { key });
    const { json: first } = await send();
    const { json: again } = await send();
    assert.deepEqual(again, { ...first, replayed: true });
    const { json: read } = await aside.api('GET', `/conversations/${id}`);
    assert.deepEqual(read.messages.at(-1), first.message);
    assert.equal(read.as_of, first.as_of);
    const { json: one } = await aside.api('GET', `/runs/${first.run.id}`);
    assert.deepEqual(one.run, first.run);
  }
});

test('R02 one key sent many times at once is one Run', BOUND, async (t) => {
  const aside = await start(t);
  const { id } = await conversation(aside);
  const replies = await Promise.all(Array.from({ length: 24 }, () => aside.api(
    'POST', `/conversations/${id}/messages`, { body: 'once' }, { key: 'same' })));
  assert.deepEqual([...new Set(replies.map((reply) => reply.status))], [202]);
  assert.equal(new Set(replies.map((reply) => reply.json.run.id)).size, 1);
  assert.equal(replies.filter((reply) => !reply.json.replayed).length, 1);
});

test('R02 R16 a full class refuses, says so, and still replays', BOUND, async (t) => {
  const aside = await start(t, { conf: { 'short.limit': 2 } });
  const { id } = await conversation(aside);
  const where = `/conversations/${id}/messages`;
  const first = await aside.api('POST', where, { body: 'a' }, { key: 'a' });
  await aside.api('POST', where, { body: 'b' });
  const refused = await aside.api('POST', where, { body: 'c' }, { key: 'c' });
  assertProblem(refused, 429, 'short_capacity_full');
  assert.equal(refused.json.accepted, false);
  assert.equal(refused.json.queued, false);
  assert.deepEqual(refused.json.occupancy, {
    short: { used: 2, limit: 2 }, background: { used: 0, limit: 1 },
  });
  const replay = await aside.api('POST', where, { body: 'a' }, { key: 'a' });
  assert.equal(replay.json.replayed, true);
  await aside.api('POST', `/runs/${first.json.run.id}/stop`);
  // A refusal binds no key.
  assert.equal((await aside.api('POST', where, { body: 'other' }, { key: 'c' })).status, 202);

  const deep = await aside.api('POST', where, { body: 'd', depth: 'deep' });
  assert.equal(deep.json.run.kind, 'research');
  assert.equal(deep.json.run.depth, 'deep');
  assertProblem(
    await aside.api('POST', where, { body: 'e', mode: 'background' }),
    429, 'background_capacity_full');
});

test('R19 R23 R24 a research is adjusted, stopped, and adjusted in vain', BOUND, async (t) => {
  const aside = await start(t);
  const { id } = await conversation(aside);
  const { json: sent } = await aside.api(
    'POST', `/conversations/${id}/messages`, { body: 'research', mode: 'background' });
  const { json: short } = await aside.api(
    'POST', `/conversations/${id}/messages`, { body: 'short' });
  const run = `/runs/${sent.run.id}`;
  const adjusted = await aside.api('POST', `${run}/adjustments`, { body: 'more' });
  assert.equal(adjusted.status, 202);
  assert.equal(adjusted.json.handoff.state, 'received');
  assert.equal(adjusted.json.handoff.origin, 'panel');
  assert.deepEqual(adjusted.json.message.handoff_ids, [adjusted.json.handoff.id]);

  assertProblem(await aside.api('POST', `${run}/reply`, { body: 'x' }), 409, 'not_awaiting_input');
  assertProblem(await aside.api('POST', `${run}/continue`, {}), 409, 'not_eligible');
  assertProblem(
    await aside.api('POST', `/runs/${short.run.id}/adjustments`, { body: 'x' }),
    409, 'not_eligible');
  assertProblem(await aside.api('GET', `${run}/report`), 409, 'run_active');
  assertProblem(await aside.api('GET', `/runs/${short.run.id}/report`), 409, 'not_eligible');

  assert.equal((await aside.api('POST', `${run}/stop`, {})).json.run.state, 'stopped');
  assert.equal((await aside.api('POST', `${run}/stop`)).json.run.state, 'stopped');
  const late = await aside.api('POST', `${run}/adjustments`, { body: 'late' });
  assert.equal(late.status, 202);
  assert.equal(late.json.handoff.state, 'not_applied');

  const { json } = await aside.api('GET', run);
  assert.deepEqual(json.handoffs.map((handoff) => handoff.reason), ['run_stopped', 'run_stopped']);
  assert.deepEqual(json.sources, []);
  assertProblem(await aside.api('GET', `${run}/report`), 404, 'not_found');
  const next = await aside.api('POST', `${run}/continue`, { body: 'go on' });
  assert.equal(next.status, 202);
  assert.equal(next.json.run.continues, sent.run.id);
});

test('what does not exist is not found, whatever it is', BOUND, async (t) => {
  const aside = await start(t);
  const paths = [
    ['GET', '/conversations/conv_999'], ['PATCH', '/conversations/conv_999', { title: 'x' }],
    ['DELETE', '/conversations/conv_999'], ['POST', '/conversations/conv_999/messages', { body: 'x' }],
    ['GET', '/runs/run_999'], ['POST', '/runs/run_999/stop', {}],
    ['POST', '/runs/run_999/adjustments', { body: 'x' }], ['POST', '/runs/run_999/reply', { body: 'x' }],
    ['POST', '/runs/run_999/continue', {}], ['GET', '/runs/run_999/report'],
    ['GET', '/requests/req_999/input'], ['GET', '/conversations/run_1'],
    ['GET', '/conversations/%ff'], ['GET', '/nothing'],
    ['GET', '/conversations/conv_01'], ['GET', '/runs/run_1;x'],
  ];
  for (const account of ['nobody', 'made']) {
    for (const [method, where, body] of paths) {
      assertProblem(await aside.api(method, where, body), 404, 'not_found');
    }
    if (account === 'nobody') {
      await conversation(aside); // the account exists now
    }
  }
  const wrong = await aside.api('PUT', '/overview', {});
  assertProblem(wrong, 405, 'method_not_allowed');
  assert.equal(wrong.headers.allow, 'GET, HEAD');
});

test('a query is checked like everything else', BOUND, async (t) => {
  const aside = await start(t);
  const { id } = await conversation(aside);
  const bad = [
    '/changes?after=x', '/changes?after=-1', '/changes?after=', '/changes?wait=56',
    '/changes?after=99999999999999999999', '/runs?state=nice', '/runs?kind=long',
    '/runs?conversation=7', '/runs?before=run_x', '/runs?limit=0', '/runs?limit=201',
    `/conversations/${id}?before=7`, `/conversations/${id}?limit=many`,
  ];
  for (const where of bad) {
    assertProblem(await aside.api('GET', where), 422, 'invalid_field');
  }
  assertProblem(await aside.api('GET', '/changes?after=%zz'), 400, 'malformed_target');
  assertProblem(await aside.api('GET', '/changes?after=%00'), 400, 'malformed_target');
});

test('only this machine, by its own names and pages, may ask and write', BOUND, async (t) => {
  const aside = await start(t, { conf: { hosts: 'aside.test' } });
  const read = (headers) => aside.api('GET', '/overview', undefined, { headers });
  const write = (headers) => aside.api('POST', '/conversations', {}, { headers });
  assert.equal((await read({ host: 'localhost:1' })).status, 200);
  assert.equal((await read({ host: 'aside.test' })).status, 200);
  assertProblem(await read({ host: 'evil.test' }), 403, 'forbidden');
  for (const name of ['forwarded', 'x-forwarded-for', 'x-real-ip', 'via', 'x-forwarded-host']) {
    assertProblem(await read({ [name]: '127.0.0.1' }), 403, 'forbidden');
  }
  assert.equal((await aside.api('GET', '/health', undefined, {
    headers: { host: 'evil.test', via: 'x' },
  })).status, 200);

  const own = `http://127.0.0.1:${aside.port}`;
  assert.equal((await write({ origin: own, 'sec-fetch-site': 'same-origin' })).status, 201);
  assertProblem(await write({ origin: 'http://evil.test' }), 403, 'foreign_origin');
  assertProblem(await write({ origin: 'null' }), 403, 'foreign_origin');
  assertProblem(await write({ 'sec-fetch-site': 'cross-site' }), 403, 'foreign_origin');
  assertProblem(await write({ 'content-type': 'text/plain' }), 415, 'media_type');
  assertProblem(await write({ 'content-type': 'application/x-www-form-urlencoded' }),
    415, 'media_type');
  const { json } = await aside.api('GET', '/overview');
  assert.equal(json.conversations.length, 1);
});

test('auth = proxy: every user sees their own things alone', BOUND, async (t) => {
  const aside = await start(t, { conf: { auth: 'proxy' } });
  await withNginx(aside, 'fastcgi_param HTTP_HOST $http_host;',
    'fastcgi_param HTTP_HOST $http_host; fastcgi_param REMOTE_USER $http_x_test_user;');
  const as = (user) => ({ headers: { 'x-test-user': user } });
  assertProblem(await aside.api('GET', '/overview'), 401, 'unauthorized');
  assertProblem(await aside.api('POST', '/conversations', {}), 401, 'unauthorized');
  assert.equal((await aside.api('GET', '/health')).status, 200);

  const empty = await aside.api('GET', '/overview', undefined, as('ada'));
  assert.equal(empty.json.account, 'ada');
  assert.equal(empty.json.as_of, 0);
  const { id } = await conversation(aside, { key: 'k', ...as('ada') });
  const theirs = await conversation(aside, { key: 'k', ...as('bob') });
  assert.notEqual(id, theirs.id);
  const sent = await aside.api('POST', `/conversations/${id}/messages`, { body: 'a' }, as('ada'));
  for (const [method, where, body] of [
    ['GET', `/conversations/${id}`], ['PATCH', `/conversations/${id}`, { title: 'x' }],
    ['DELETE', `/conversations/${id}`], ['POST', `/conversations/${id}/messages`, { body: 'x' }],
    ['GET', `/runs/${sent.json.run.id}`], ['POST', `/runs/${sent.json.run.id}/stop`, {}],
  ]) {
    assertProblem(await aside.api(method, where, body, as('bob')), 404, 'not_found');
  }
  for (const [user, found] of [['ada', 1], ['bob', 0], ['nobody yet', 0]]) {
    const search = await aside.api('GET', '/search?q=a', undefined, as(user));
    assert.equal(search.json.results.length, found, user);
  }
  const feed = await aside.api('GET', '/changes?after=0', undefined, as('bob'));
  assert.deepEqual(feed.json.changes.map((change) => change.conversation_id), [theirs.id]);
  assert.ok(feed.json.next >= sent.json.as_of); // of the whole database
});

test('a poll is woken by a write in the other responder', BOUND, async (t) => {
  const aside = await start(t);
  const { id } = await conversation(aside);
  const { json: { as_of: after } } = await aside.api('GET', '/overview');
  // Both responders hold some of these; the write goes to one of them.
  const polls = Array.from({ length: 10 }, () => aside.api(
    'GET', `/changes?after=${after}&wait=50`));
  await parked(aside, 10);
  const begin = Date.now();
  const sent = await aside.api('POST', `/conversations/${id}/messages`, { body: 'hello' });
  for (const { json } of await Promise.all(polls)) {
    assert.deepEqual(json.changes.map((change) => change.kind),
      ['message.created', 'run.created', 'conversation.updated']);
    assert.equal(json.next, sent.json.as_of);
    assert.equal(json.reset, false);
    assert.equal(json.changes[1].run.answer.body, undefined);
  }
  assert.ok(Date.now() - begin < 4000, 'not by the fallback');
});

test('a long feed is cut, and goes on where it was cut', BOUND, async (t) => {
  const aside = await start(t);
  const { id } = await conversation(aside);
  for (let n = 0; n < 3; n++) {
    const sent = await aside.api(
      'POST', `/conversations/${id}/messages`, { body: `${n}`.repeat(60000) });
    await aside.api('POST', `/runs/${sent.json.run.id}/stop`);
  }
  const seen = [];
  let after = 0;
  let replies = 0;
  let newest;
  do {
    const { json, text } = await aside.api('GET', `/changes?after=${after}`);
    assert.ok(text.length <= 128 * 1024 + 200, `${text.length} bytes`);
    seen.push(...json.changes.map((change) => change.seq));
    after = json.next;
    newest = (await aside.api('GET', '/health')).json.as_of;
    replies++;
  } while (after < newest && replies < 20);
  assert.ok(replies > 1);
  assert.deepEqual(seen, Array.from({ length: newest }, (_, n) => n + 1));
});

test('a cursor of another database is reset', BOUND, async (t) => {
  const aside = await start(t);
  await conversation(aside);
  const { json } = await aside.api('GET', '/changes?after=1000000&wait=50');
  assert.equal(json.reset, true);
  assert.deepEqual(json.changes, []);
  assert.equal(json.next, 1);
});

test('SIGTERM answers what is parked and in hand, and leaves nothing behind', BOUND, async (t) => {
  const aside = await start(t, { responders: 1 });
  await conversation(aside);
  const polls = Array.from({ length: 5 }, () => aside.api('GET', '/changes?after=1&wait=50'));
  await parked(aside, 5);
  const program = aside.part('responder-1');
  const begin = Date.now();
  await program.stop();
  for (const reply of await Promise.all(polls)) {
    assert.equal(reply.status, 200);
    assert.deepEqual(reply.json.changes, []);
  }
  assert.ok(Date.now() - begin < 20000, 'not when their time of 50 s was over');
  assertProblem(await aside.api('GET', '/health'), 502, 'unavailable');
  await aside.restart('responder-1');
  assert.equal((await aside.api('GET', '/overview')).json.conversations.length, 1);
});

test('killed in mid-flight, it starts again on what was committed', BOUND, async (t) => {
  const aside = await start(t, { responders: 1, conf: { 'short.limit': 100 } });
  const { id } = await conversation(aside);
  const attempts = Array.from({ length: 40 }, (_, n) => aside.api(
    'POST', `/conversations/${id}/messages`, { body: `m${n}` }, { key: `m${n}` })
    .catch(() => ({ status: 0 })));
  await Promise.race(attempts);
  await aside.kill('responder-1');
  const replies = await Promise.all(attempts);
  await aside.restart('responder-1');
  const { json } = await aside.api('GET', `/conversations/${id}?limit=200`);
  const stored = new Set(json.messages.map((message) => message.body));
  for (const [n, reply] of replies.entries()) {
    if (reply.status === 202) {
      assert.ok(stored.has(`m${n}`), `R01: m${n} was accepted, and is not there`);
    }
  }
  for (let n = 0; n < 40; n++) {
    const again = await aside.api(
      'POST', `/conversations/${id}/messages`, { body: `m${n}` }, { key: `m${n}` });
    assert.equal(again.status, 202);
    assert.equal(again.json.replayed, stored.has(`m${n}`));
  }
});

test('it serves from descriptor 0 and below a prefix', BOUND, async (t) => {
  const aside = await start(t, { spawnFcgi: true, conf: { prefix: '/sub/aside' } });
  const { id } = await conversation(aside);
  assert.equal((await aside.api('GET', `/conversations/${id}`)).status, 200);
  const outside = await aside.api('GET', '/sub/aside/api/v2/health');
  assertProblem(outside, 404, 'not_found');
});

test('what is no HTTP does no harm', BOUND, async (t) => {
  const aside = await start(t);
  const host = 'Host: localhost\r\n';
  for (const bytes of [
    'nonsense\r\n\r\n',
    `POST /api/v1/conversations HTTP/1.1\r\n${host}Content-Length: x\r\n\r\n`,
    `POST /api/v1/conversations HTTP/1.1\r\n${host}Transfer-Encoding: chunked\r\nConnection: close\r\n\r\nzz\r\n`,
    'GET /api/v1/overview HTTP/1.0\r\n\r\n',
  ]) {
    assert.match(await raw(aside.port, bytes), /40[03]/);
  }
  const chunked = await raw(aside.port, `POST /api/v1/conversations HTTP/1.1\r\n${host}`
    + 'Content-Type: application/json\r\nIdempotency-Key: c\r\nConnection: close\r\n'
    + 'Transfer-Encoding: chunked\r\n\r\nd\r\n{"title":"c"}\r\n0\r\n\r\n');
  assert.match(chunked, / 201 /);
  assert.equal((await aside.api('GET', '/overview')).json.conversations[0].title, 'c');
});
