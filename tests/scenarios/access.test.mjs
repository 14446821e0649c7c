// access.test.mjs - auth = token: who may ask what. Every route of the route table
// is walked, as `aside.fcgi -R` prints it, so that a new one cannot be forgotten.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFile, readdir } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';

import { bin, eventually, lookForLeaks, startAside } from '../support/harness.mjs';
import { holdWriteLock } from '../support/lock.mjs';
import { ScriptedModel } from '../support/scripted-model.mjs';
import { BOUND } from '../support/patience.mjs';

lookForLeaks();

const run = promisify(execFile);
const BEARER = /^Bearer realm="Aside"/;
const UNKNOWN = `aside_${'A'.repeat(43)}`;

/** Every route: {method, pattern, need}. */
async function routes() {
  const { stdout } = await run(bin('aside.fcgi'), ['-R']);
  const all = stdout.trim().split('\n').map((line) => {
    const [method, pattern, need] = line.split('\t');
    return { method, pattern, need };
  });
  assert.ok(all.length > 20);
  return all;
}

/** A pattern with things in the place of its names; else ids that nobody has. */
const fill = (pattern, things = {}) => pattern
  .replace('{name...}', things.name ?? 'nobodys.md')
  .replace(/\{(\w+)\}/g, (whole, kind) => things[kind] ?? `${kind}_999999`);

/** Bodies that a route would take; without one it would say 422 instead. */
const BODY = {
  '/conversations': {},
  '/conversations/{conv}': { title: 'Taken over' },
  '/conversations/{conv}/messages': { body: 'Not yours' },
  '/runs/{run}/adjustments': { body: 'Not yours' },
  '/runs/{run}/reply': { body: 'Not yours' },
  '/approvals/{appr}': { decision: 'once' },
  '/tokens': { name: 'stolen', scope: 'admin' },
};

/** An Aside with auth = token and these accounts, each with an admin token. */
async function guarded(t, accounts, more = {}) {
  const aside = await startAside({ t, ...more, conf: { auth: 'token', ...more.conf } });
  const env = { ...aside.env };
  const cli = async (...words) => (await run(bin('aside'), words, { env })).stdout.trim();
  const sql = async (text) => (await run('sqlite3',
    ['-cmd', '.timeout 5000', path.join(aside.dataDir, 'aside.db'), text])).stdout.trim();
  const token = (account, name = 'laptop', ...words) => cli('token', 'add', '-a', account, ...words, name);
  const by = (secret) => ({ authorization: `Bearer ${secret}` });
  /** One request of a route. */
  const ask = ({ method, pattern }, headers, things) => {
    const body = BODY[pattern.replace('/api/v1', '')];
    const upload = pattern.endsWith('{name...}') && method === 'PUT';
    return aside.api(method, fill(pattern, things), upload ? 'text' : method === 'GET' ? undefined : body,
      { headers: { ...(upload ? { 'content-type': 'text/markdown' } : {}), ...headers } });
  };
  const login = async (secret, headers = {}) => {
    const r = await aside.api('POST', '/session', { token: secret }, { headers, key: null });
    assert.equal(r.status, 201, r.text);
    const line = [r.headers['set-cookie']].flat()[0];
    return { line, cookie: line.split(';')[0], headers: { cookie: line.split(';')[0] }, session: r.json.session };
  };
  const secrets = {};
  for (const account of accounts) {
    await cli('account', 'add', account);
    secrets[account] = await token(account, 'laptop', '-s', 'admin');
    assert.match(secrets[account], /^aside_[\w-]{43}$/);
  }
  return { aside, cli, sql, token, by, ask, login, secrets };
}

test('every route asks for a token, and takes no stale one', BOUND, async (t) => {
  const { aside, cli, sql, token, by, ask, login, secrets } = await guarded(t, ['me'], { runtime: false });
  const expired = await token('me', 'expired', '-s', 'admin');
  const before = await login(expired);
  await sql("UPDATE token SET expires_ms = 1 WHERE name = 'expired'");
  const revoked = await token('me', 'revoked', '-s', 'admin');
  const beforeRevoked = await login(revoked);
  await cli('token', 'revoke', await sql("SELECT 'tok_' || id FROM token WHERE name = 'revoked'"));
  const old = await login(secrets.me);
  await sql(`UPDATE session SET expires_ms = 1 WHERE id = ${old.session.id.slice('sess_'.length)}`);
  const left = await login(secrets.me);
  assert.equal((await aside.api('DELETE', '/session', undefined, { headers: left.headers })).status, 200);
  const live = await login(secrets.me);

  const strangers = {
    'nobody': {},
    'no token': { authorization: 'Bearer' },
    'not a token': by('secret'),
    'an unknown token': by(UNKNOWN),
    'one letter less': by(secrets.me.slice(0, -1)),
    'one letter more': by(`${secrets.me}A`),
    'another scheme': { authorization: `Basic ${Buffer.from(`me:${secrets.me}`).toString('base64')}` },
    'an expired token': by(expired),
    'a revoked token': by(revoked),
    'an unknown session': { cookie: `aside=${UNKNOWN}` },
    'an expired session': old.headers,
    'a session that was left': left.headers,
    'a session of an expired token': before.headers,
    'a session of a revoked token': beforeRevoked.headers,
    'a token as a session': { cookie: `aside=${secrets.me}` },
    'a session as a token': by(live.cookie.slice('aside='.length)),
    'a bad token with a good session': { ...by(UNKNOWN), ...live.headers },
    'a user that a web server would name': { 'remote-user': 'me', remote_user: 'me' },
  };
  const count = () => sql('SELECT (SELECT count(*) FROM conversation), (SELECT count(*) FROM token),' +
    ' (SELECT count(*) FROM session), (SELECT count(*) FROM audit)');
  const had = await count();
  for (const route of await routes()) {
    if (route.need === 'open' || route.need === 'login') {
      continue;
    }
    for (const [who, headers] of Object.entries(strangers)) {
      const r = await ask(route, headers);
      const what = `${route.method} ${route.pattern} as ${who}`;
      assert.equal(r.status, 401, `${what}: ${r.text}`);
      assert.equal(r.json.code, 'login_required', what);
      assert.match(r.headers['www-authenticate'], BEARER, what);
      assert.equal(/error="invalid_token"/.test(r.headers['www-authenticate']),
        /^bearer/i.test(headers.authorization ?? ''), what);
    }
    // Nor does a browser ask it for another site, nor for a neighbour of this one.
    for (const site of ['cross-site', 'same-site']) {
      const r = await ask(route, { ...live.headers, 'sec-fetch-site': site });
      assert.deepEqual([r.status, r.json.code], [403, 'foreign_origin'], `${route.pattern}: ${r.text}`);
    }
  }
  assert.equal(await count(), had, 'nothing was done');
  const open = (await routes()).filter((r) => r.need === 'open' || r.need === 'login');
  assert.deepEqual(open.map((r) => `${r.method} ${r.pattern}`),
    ['GET /api/v1/health', 'POST /api/v1/session'], 'no other is open');
  assert.equal((await ask(open[0], {})).status, 200);
});

test('a token reaches as far as its scope, and its session no farther', BOUND, async (t) => {
  const { token, by, ask, login } = await guarded(t, ['me'], { runtime: false });
  const RANK = { read: 0, leave: 0, write: 1, upload: 1, admin: 2 };
  for (const [rank, scope] of ['read', 'write', 'admin'].entries()) {
    const secret = await token('me', scope, '-s', scope);
    const { headers, session } = await login(secret);
    assert.equal(session.scope, scope);
    for (const route of await routes()) {
      if (RANK[route.need] === undefined || route.need === 'leave') {
        continue;
      }
      for (const who of [by(secret), headers]) {
        const r = await ask(route, who);
        const what = `${route.method} ${route.pattern} with scope ${scope}: ${r.status} ${r.text.slice(0, 200)}`;
        if (RANK[route.need] > rank) {
          assert.equal(r.status, 403, what);
          assert.equal(r.json.code, 'scope', what);
          assert.match(r.headers['www-authenticate'], /insufficient_scope.*scope="(write|admin)"/, what);
        } else {
          assert.ok(![401, 403].includes(r.status), what);
        }
      }
    }
  }
});

test("another account's things are not there, on every route with an id", BOUND, async (t) => {
  const model = await ScriptedModel.start({ t });
  const { aside, by, ask, login, secrets, sql } = await guarded(t, ['me', 'other'],
    { model, conf: { 'policy.note': 'ask' } });
  const mine = by(secrets.me);
  const api = (method, where, body) => aside.api(method, where, body, { headers: mine });
  model.next('research', (req, reply) => reply.call(['note', { text: 'The moon.' }]));
  model.next('research', (req, reply) => reply.report('# Tides\n\nThe moon.'));
  const conv = (await api('POST', '/conversations', { title: 'Mine' })).json.conversation.id;
  const sent = await api('POST', `/conversations/${conv}/messages`, { body: 'Tides?', mode: 'background' });
  const id = sent.json.run.id;
  const approval = await eventually(async () => (await api('GET', `/runs/${id}`)).json.run.approval, { what: 'it asks' });
  const foreign = await aside.api('POST', `/approvals/${approval.id}`, { decision: 'run' }, { headers: by(secrets.other) });
  assert.deepEqual([foreign.status, (await api('GET', `/runs/${id}`)).json.run.approval], [404, approval]);
  assert.equal((await api('POST', `/approvals/${approval.id}`, { decision: 'once' })).status, 202);
  await eventually(async () => (await api('GET', `/runs/${id}`)).json.run.ended_at, { what: 'it has ended' });
  const { headers, session } = await login(secrets.me);
  assert.equal((await aside.api('PUT', '/library/files/mine.md', 'My words', {
    headers: { ...mine, 'content-type': 'text/markdown' } })).status, 201);
  await sql(`INSERT INTO source (run_id, tool_call_id, n, passage, title, location, heading, body)
    SELECT ${id.slice(4)}, min(id), 1, 'p', 'Tides', 'tides.md', '', 'The moon.' FROM tool_call`);
  const things = {
    conv, run: id, name: 'mine.md', sess: session.id, appr: approval.id,
    req: (await api('GET', `/runs/${id}`)).json.requests[0].id,
    call: (await api('GET', `/runs/${id}`)).json.tool_calls[0].id,
    src: (await api('GET', `/runs/${id}`)).json.sources[0].id,
    tok: (await api('GET', '/tokens')).json.tokens[0].id,
  };
  const withId = (await routes()).filter((r) => r.pattern.includes('{'));
  for (const { pattern } of withId) {
    for (const [, kind] of pattern.matchAll(/\{(\w+)/g)) {
      assert.ok(things[kind], `${pattern}: this test needs a {${kind}} of the account me`);
    }
  }
  const state = () => sql('SELECT (SELECT group_concat(title) FROM conversation),' +
    ' (SELECT count(*) FROM message), (SELECT group_concat(state) FROM run), (SELECT count(*) FROM session),' +
    ' (SELECT count(*) FROM token WHERE revoked_ms IS NULL), (SELECT count(*) FROM handoff)');
  const had = await state();
  for (const route of withId.filter((r) => !(r.method === 'PUT'))) {
    const r = await ask(route, by(secrets.other), things);
    assert.equal(r.status, 404, `${route.method} ${route.pattern}: ${r.text}`);
    assert.equal(r.json.code, 'not_found');
    if (route.method === 'GET') {
      assert.equal((await ask(route, mine, things)).status, 200, `${route.pattern} is there for its owner`);
    }
  }
  // A name is each account's own: putting a file there is putting one's own.
  const put = withId.filter((r) => r.method === 'PUT');
  assert.deepEqual(put.map((r) => r.pattern), ['/api/v1/library/files/{name...}']);
  assert.equal((await ask(put[0], by(secrets.other), things)).status, 201);
  assert.equal(await state(), had);
  for (const where of ['/overview', '/runs', '/search?q=tides', '/audit', '/changes?after=0', '/sessions', '/tokens']) {
    const r = await aside.api('GET', where, undefined, { headers: by(secrets.other) });
    assert.equal(r.status, 200);
    assert.doesNotMatch(r.text, new RegExp(`"(${conv}|${id}|${things.req}|${session.id})"|Mine|mine\\.md`), where);
  }
  assert.equal((await aside.api('GET', '/overview', undefined, { headers })).json.account, 'me');
});

test('logging in and out, as a browser does it', BOUND, async (t) => {
  const { aside, by, login, secrets, sql } = await guarded(t, ['me'], { conf: { prefix: '/aside' }, runtime: false });
  const { line, headers, session, cookie } = await login(secrets.me, { 'user-agent': 'Sea Browser' });
  assert.match(line, /^aside=aside_[\w-]{43}; Max-Age=259\d{4}; Path=\/aside; HttpOnly; SameSite=Strict$/);
  assert.notEqual(cookie, `aside=${secrets.me}`);
  assert.match((await login(secrets.me, { 'x-forwarded-proto': 'https' })).line, /; Secure$/);
  const seen = (await aside.api('GET', '/overview', undefined, { headers })).json.access;
  assert.deepEqual(seen, { tokens: true, scope: 'admin', session: session.id });

  // A session's writes are looked at as before; a token's come from no page.
  const write = (more) => aside.api('POST', '/conversations', {}, { headers: more });
  for (const foreign of [{ origin: 'https://evil.example' }, { 'sec-fetch-site': 'cross-site' }, { origin: 'null' }]) {
    assert.equal((await write({ ...headers, ...foreign })).json.code, 'foreign_origin');
    assert.equal((await write({ ...by(secrets.me), ...foreign })).status, 201);
    assert.equal((await aside.api('POST', '/session', { token: secrets.me }, { headers: foreign })).json.code,
      'foreign_origin', 'nobody is logged in by another site');
  }
  assert.equal((await write({ ...headers, origin: `http://127.0.0.1:${aside.port}` })).status, 201);
  assert.equal((await write({ cookie: `other=1; ${cookie}; more=2` })).status, 201);
  // A login of the web server's own stands beside ours, and excuses nothing.
  const basic = { ...headers, authorization: 'Basic YTpi' };
  assert.equal((await write(basic)).status, 201);
  assert.equal((await write({ ...basic, origin: 'https://evil.example' })).json.code, 'foreign_origin');

  // Wrong ones say so, and what was tried is not in the log.
  for (const wrong of [UNKNOWN, 'secret-words', secrets.me.slice(1)]) {
    const r = await aside.api('POST', '/session', { token: wrong }, { key: null });
    assert.equal(r.status, 401);
    assert.equal(r.json.code, 'wrong_token');
    assert.match(r.headers['www-authenticate'], BEARER);
    assert.equal(r.headers['set-cookie'], undefined);
  }
  assert.equal((await aside.api('POST', '/session', {}, { key: null })).status, 422);
  assert.equal((await aside.api('DELETE', '/session', undefined, { headers: by(secrets.me) })).status, 404);

  const list = (await aside.api('GET', '/sessions', undefined, { headers })).json.sessions;
  assert.equal(list.length, 2);
  assert.deepEqual(list.filter((s) => s.current).map((s) => [s.id, s.agent, s.address, s.token]),
    [[session.id, 'Sea Browser', '127.0.0.1', 'laptop']]);
  const out = await aside.api('DELETE', '/session', undefined, { headers });
  assert.equal(out.status, 200);
  assert.match(out.headers['set-cookie'][0], /^aside=; Max-Age=0; Path=\/aside; HttpOnly; SameSite=Strict$/);
  assert.equal((await aside.api('GET', '/overview', undefined, { headers })).status, 401);
  const other = list.find((s) => !s.current).id;
  assert.equal((await aside.api('DELETE', `/sessions/${other}`, undefined, { headers: by(secrets.me) })).status, 200);

  const lines = (await aside.api('GET', '/audit', undefined, { headers: by(secrets.me) })).json.audit;
  const did = (action) => lines.filter((x) => x.action === action).map((x) => [x.actor, x.actor_id, x.subject, x.address]);
  assert.deepEqual(did('session.close'),
    [['token', 'tok_1', other, '127.0.0.1'], ['session', session.id, session.id, '127.0.0.1']]);
  assert.deepEqual(did('session.open').at(-1), ['token', 'tok_1', session.id, '127.0.0.1']);
  assert.deepEqual(did('account.create'), [['command', null, null, null]]);
  assert.deepEqual(did('token.create'), [['command', null, 'tok_1', null]]);
  assert.deepEqual(did('conversation.create').at(-1).slice(0, 2), ['token', 'tok_1']);
  assert.deepEqual(did('conversation.create')[0].slice(0, 2), ['session', session.id]);

  // What is kept and what is logged gives nobody in.
  const log = ['responder-1', 'responder-2'].map((name) => aside.part(name).log).join('');
  assert.match(log, /refused: a login from 127\.0\.0\.1/);
  let bytes = log;
  await sql('PRAGMA wal_checkpoint(TRUNCATE)');
  for (const name of await readdir(aside.dataDir)) {
    bytes += await readFile(path.join(aside.dataDir, name), 'latin1');
  }
  for (const secret of [secrets.me, cookie.slice('aside='.length), UNKNOWN, 'secret-words']) {
    assert.equal(bytes.includes(secret), false);
  }
});

test('tokens are made, shown once, listed and revoked', BOUND, async (t) => {
  const { aside, by, cli, login, secrets, sql } = await guarded(t, ['me'], { runtime: false });
  const admin = by(secrets.me);
  const make = (body, key) => aside.api('POST', '/tokens', body, { headers: admin, key });
  const first = await make({ name: 'Phone', scope: 'write', days: 7 }, 'once');
  assert.equal(first.status, 201, first.text);
  assert.match(first.json.secret, /^aside_[\w-]{43}$/);
  assert.equal(first.json.token.expires_at - first.json.token.created_at, 7 * 86400000);
  assert.equal(first.json.token.last_used_at, null);
  const again = await make({ name: 'Phone', scope: 'write', days: 7 }, 'once');
  assert.equal(again.status, 201);
  assert.deepEqual([again.json.replayed, again.json.secret, again.json.token.id], [true, null, first.json.token.id]);
  assert.equal((await make({ name: 'Phone', scope: 'admin', days: 7 }, 'once')).json.code, 'key_reused');
  assert.equal((await make({ name: 'Phone' }, null)).json.code, 'key_missing');
  for (const odd of [{}, { name: '' }, { name: 'x', scope: 'root' }, { name: 'x', days: 0 }, { name: 'x', days: 1.5 },
    { name: 'x', days: '7' }, { name: 'x', days: 3651 }, { name: 'x\ny' }, { name: 'x', more: 1 }]) {
    assert.equal((await make(odd)).status, 422, JSON.stringify(odd));
  }
  assert.equal((await make({ name: 'default' })).json.token.scope, 'read');

  // That it was used is written at most once a minute.
  const used = async () => (await aside.api('GET', '/tokens', undefined, { headers: admin })).json.tokens
    .find((x) => x.name === 'Phone').last_used_at;
  const use = () => aside.api('GET', '/runs', undefined, { headers: by(first.json.secret) });
  await use();
  const at = await eventually(used, { what: 'its use is noted' });
  const before = at - 20000; // however slow this is, it is no minute
  await sql(`UPDATE token SET last_used_ms = ${before} WHERE name = 'Phone'`);
  await use();
  assert.equal(await used(), before, 'not again within a minute');
  await sql(`UPDATE token SET last_used_ms = ${at - 61000} WHERE name = 'Phone'`);
  await use();
  await eventually(async () => await used() >= at, { what: 'its use is noted again' });

  const phone = await login(first.json.secret);
  const gone = await aside.api('DELETE', `/tokens/${first.json.token.id}`, undefined, { headers: admin });
  assert.equal(gone.status, 200);
  assert.ok(gone.json.token.revoked_at);
  for (const who of [by(first.json.secret), phone.headers]) {
    assert.equal((await aside.api('GET', '/runs', undefined, { headers: who })).status, 401);
  }
  // What goes with a token, or makes room for another, is in the log as well.
  const ends = async () => (await aside.api('GET', '/audit', undefined, { headers: admin })).json.audit
    .filter((x) => x.action === 'session.close').map((x) => [x.subject, x.actor, x.actor_id]);
  assert.deepEqual(await ends(), [[phone.session.id, 'token', 'tok_1']]);
  const oldest = (await login(secrets.me)).session.id;
  await sql(`WITH RECURSIVE n (i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 99)
    INSERT INTO session (account_id, token_id, hash, created_ms, expires_ms, seen_ms, agent, address)
    SELECT account_id, token_id, randomblob(32), created_ms, expires_ms, seen_ms, agent, address FROM session, n`);
  await login(secrets.me);
  assert.deepEqual((await ends())[0], [oldest, 'token', 'tok_1']);
  const open = (await aside.api('GET', '/sessions', undefined, { headers: admin })).json.sessions;
  assert.deepEqual([open.length, open.some((x) => x.id === oldest)], [100, false]);
  const names = (await aside.api('GET', '/tokens', undefined, { headers: admin })).json.tokens.map((x) => x.name);
  assert.deepEqual(names, ['default', 'laptop']);
  assert.equal((await make({ name: 'Phone', scope: 'write', days: 7 }, 'once')).json.secret, null);

  // The command line.
  const json = async (...words) => JSON.parse(await cli(...words, '--json'));
  assert.deepEqual((await json('account', 'list')).accounts.map((a) => a.name), ['me']);
  assert.deepEqual((await json('token', 'list', '-a', 'me')).tokens.map((x) => x.name), names);
  const made = await json('token', 'add', '-a', 'me', '-s', 'write', '-d', '1', 'script');
  assert.deepEqual([made.token.scope, made.token.expires_at - made.token.created_at], ['write', 86400000]);
  assert.equal((await aside.api('GET', '/runs', undefined, { headers: by(made.secret) })).status, 200);
  assert.ok((await json('token', 'revoke', made.token.id)).token.revoked_at);
  assert.equal((await aside.api('GET', '/runs', undefined, { headers: by(made.secret) })).status, 401);
  for (const [words, code, what] of [
    [['account', 'add', 'me'], 1, /there is an account of that name/],
    [['account', 'add'], 2, /usage: aside account/],
    [['token', 'add', '-a', 'nobody', 'x'], 1, /there is no such account/],
    [['token', 'add', '-a', 'me', '-s', 'root', 'x'], 1, /read, write or admin/],
    [['token', 'add', '-a', 'me', '-d', '0', 'x'], 2, /usage: aside token/],
    [['token', 'revoke', 'tok_99'], 1, /there is no such token/],
    [['token'], 2, /usage: aside token/],
  ]) {
    await assert.rejects(cli(...words), (error) => error.code === code && what.test(error.stderr), words.join(' '));
  }
});

test('by HTTPS no other host can put a session into a browser', BOUND, async (t) => {
  const { aside, login, secrets, sql } = await guarded(t, ['me', 'thief'], { runtime: false });
  const https = { 'x-forwarded-proto': 'https' };
  const mine = await login(secrets.me, https);
  assert.match(mine.line, /^__Host-aside=aside_[\w-]{43}; Max-Age=259\d{4}; Path=\/; HttpOnly; SameSite=Strict; Secure$/);
  const evil = (await login(secrets.thief)).cookie;
  const who = async (cookie, more = https) =>
    (await aside.api('GET', '/overview', undefined, { headers: { cookie, ...more } })).json.account ?? null;
  assert.equal(await who(`${evil}; ${mine.cookie}`), 'me');
  assert.equal(await who(`${mine.cookie}; ${evil}`), 'me');
  assert.equal(await who(evil), null);
  assert.equal(await who(mine.cookie, {}), null);
  const out = await aside.api('DELETE', '/session', undefined, { headers: { cookie: mine.cookie, ...https } });
  assert.match(out.headers['set-cookie'][0], /^__Host-aside=; Max-Age=0; Path=\/; .*Secure$/);
  assert.equal(await sql('SELECT count(*) FROM session'), '1');
});

test('what is revoked does nothing any more, however long it has waited for its turn', BOUND, async (t) => {
  const { aside, sql, token, by, login, secrets } = await guarded(t, ['me'],
    { runtime: false, conf: { 'db.busy_timeout_ms': 60000 } });
  const stolen = await token('me', 'stolen', '-s', 'admin');
  const { headers } = await login(stolen);
  const had = await sql('SELECT (SELECT count(*) FROM token), (SELECT count(*) FROM session), (SELECT count(*) FROM conversation)');
  // They have been let in, and wait for the lock under which the token is revoked.
  const lock = await holdWriteLock(path.join(aside.dataDir, 'aside.db'), 60000);
  const late = [
    aside.api('POST', '/tokens', { name: 'more', scope: 'admin' }, { headers: by(stolen) }),
    aside.api('POST', '/tokens', { name: 'more', scope: 'admin' }, { headers }),
    aside.api('POST', '/conversations', {}, { headers }),
    aside.api('POST', '/session', { token: stolen }, { key: null }),
  ];
  // Reads that come behind a write on their connection tell that it was read.
  await eventually(async () => Promise.all(late.map(() => aside.api('GET', '/overview', undefined, { headers: by(stolen) }))));
  lock.run("UPDATE token SET revoked_ms = 1 WHERE name = 'stolen'; DELETE FROM session WHERE token_id = 2;");
  await lock.release();
  assert.deepEqual((await Promise.all(late)).map((r) => [r.status, r.json.code]), [
    [401, 'login_required'], [401, 'login_required'], [401, 'login_required'], [401, 'wrong_token']]);
  const [tokens, sessions, conversations] = had.split('|');
  assert.equal(await sql('SELECT (SELECT count(*) FROM token), (SELECT count(*) FROM session), (SELECT count(*) FROM conversation)'),
    `${tokens}|${sessions - 1}|${conversations}`);
  assert.equal((await aside.api('GET', '/overview', undefined, { headers: by(secrets.me) })).status, 200);
});

test('a waiting poll ends when its session or token does', BOUND, async (t) => {
  const { aside, by, login, secrets, sql, token } = await guarded(t, ['me'], { runtime: false });
  const admin = by(secrets.me);
  const short = await token('me', 'short', '-s', 'write');
  const people = [await login(secrets.me), await login(short), await login(secrets.me)];
  const after = (await aside.api('GET', '/overview', undefined, { headers: admin })).json.as_of;
  const poll = (headers) => aside.api('GET', `/changes?after=${after}&wait=40`, undefined, { headers });
  const waiting = [poll(people[0].headers), poll(people[1].headers), poll(by(short))];
  const stays = poll(people[2].headers);
  await eventually(() => ['responder-1', 'responder-2'].flatMap((name) =>
    aside.part(name).log.match(/a poll is parked/g) ?? []).length === 4, { what: 'all four wait' });
  await aside.api('DELETE', `/sessions/${people[0].session.id}`, undefined, { headers: admin });
  await sql("UPDATE token SET expires_ms = 1 WHERE name = 'short'");
  for (const r of await Promise.all(waiting)) {
    assert.equal(r.status, 401, r.text);
    assert.equal(r.json.code, 'login_required');
    assert.match(r.headers['www-authenticate'], BEARER);
  }
  await aside.api('POST', '/conversations', {}, { headers: admin });
  const told = await stays;
  assert.deepEqual([told.status, told.json.changes.length], [200, 1], 'another one waits on, and is told');
});

test('without auth = token there is nothing to log in to', BOUND, async (t) => {
  const aside = await startAside({ t, runtime: false });
  for (const route of (await routes()).filter((r) => /\/(sessions?|tokens)\b/.test(r.pattern))) {
    const r = await aside.api(route.method, fill(route.pattern),
      route.method === 'POST' ? { token: UNKNOWN } : undefined);
    assert.equal(r.status, 404, `${route.method} ${route.pattern}`);
  }
  assert.deepEqual((await aside.api('GET', '/overview')).json.access, { tokens: false, scope: 'admin', session: null });
});
