// servers.test.mjs - how the servers are that tools depend on: said to whoever
// reads the overview, without what they are sent or where they stand.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { command } from '../support/command.mjs';
import { eventually, freePort } from '../support/harness.mjs';
import { ScriptedMcp } from '../support/scripted-mcp.mjs';
import { startSite } from '../support/site.mjs';
import { started } from '../support/started.mjs';
import { BOUND } from '../support/patience.mjs';

const SAFE = { readOnlyHint: true };
const brief = (s) => `${s.kind} ${s.name}: ${s.state}${s.detail && ` (${s.detail})`}, ${s.tools}`;

test('servers of tools and the search are told of: well, gone, shut, back', BOUND, async (t) => {
  const files = await ScriptedMcp.start({ t });
  files.tool('look', SAFE, (call) => call.text('x')).tool('put', {}, (call) => call.text('x'));
  const door = await ScriptedMcp.start({ t });
  let shut = true;
  door.intercept = (msg, req, res) => shut && (res.writeHead(401).end('token SECRET-1 is not known'), true);
  const odd = await startSite(t, { '/mcp': '<h1>SECRET-1</h1>' });
  const site = await startSite(t, { '/search': { type: 'application/json', body: '{"results":[]}' } });
  const { aside, model, research, whole } = await started(t, {
    'mcp.door.url': door.url, 'mcp.door.token': 'SECRET-1', 'mcp.files.url': files.url,
    'mcp.files.header': 'X-Key: SECRET-1', 'mcp.none.url': `http://127.0.0.1:${await freePort()}/mcp`,
    'mcp.odd.url': odd.url('/mcp'), 'web.search_url': site.url('/search') });
  const read = async () => {
    const { text, json } = await aside.api('GET', '/overview');
    assert.doesNotMatch(text, /SECRET|X-Key|127\.0\.0\.1/);
    return json.tools;
  };
  const told = (...want) => eventually(async () => {
    const now = (await read()).map(brief);
    return want.every((line) => now.includes(line)) ? now : null;
  }, { what: `the overview says ${want}` });

  assert.deepEqual(await told('mcp files: ok, 2', 'mcp door: unauthorized (http_401), 0',
    'mcp none: unreachable (no_connection), 0', 'mcp odd: unreachable (no_usable_answer), 0',
    'search web_search: unknown, 1').then((all) => all.length), 5);
  const before = Object.fromEntries((await read()).map((s) => [s.name, s.changed_at]));

  await files.close();
  await told('mcp files: unreachable (no_connection), 0', 'mcp door: unauthorized (http_401), 0');
  await files.listen(files.port);
  shut = false;
  await told('mcp files: ok, 2', 'mcp door: ok, 0');
  const after = Object.fromEntries((await read()).map((s) => [s.name, s.changed_at]));
  assert.ok(after.files > before.files && after.door > before.door);
  assert.equal(after.none, before.none); // nothing is written while nothing changes

  const search = async () => {
    model.next('research', (req, reply) => reply.call(['web_search', { query: 'sea' }]));
    model.next('research', (req, reply) => reply.report('# Done'));
    await whole((await research('the sea')).id);
  };
  await search();
  await told('search web_search: ok, 1');
  site.on('/search', { status: 403 });
  await search();
  await told('search web_search: unauthorized (http_403), 1');
  site.on('/search', '<p>no</p>');
  await search();
  await told('search web_search: unreachable (no_usable_answer), 1');

  // A key that is refused in one call, until a call is answered.
  const look = async (refuse) => {
    files.intercept = (msg, req, res) => refuse && msg?.method === 'tools/call' && (res.writeHead(401).end(), true);
    model.next('research', (req, reply) => reply.call(['files__look', { refuse }]));
    model.next('research', (req, reply) => reply.report('# Done'));
    await whole((await research('the sea')).id);
  };
  await look(true);
  await told('mcp files: unauthorized (http_401), 0');
  await look(false);
  await told('mcp files: ok, 2');

  // Without a runtime nobody knows; the next one begins anew.
  await aside.part('asided').kill();
  assert.deepEqual([...new Set((await read()).map((s) => s.state + s.detail))], ['unknown']);
  aside.launch('asided');
  await told('mcp files: ok, 2', 'search web_search: unknown, 1');

  // A policy for a tool that is not there forbids nothing: that is said, until it is there.
  await aside.part('asided').stop();
  aside.launch('asided', { ASIDE_POLICY_FILES__PUTT: 'deny', ASIDE_POLICY_FILES__PUT: 'deny' });
  await told('mcp files: ok (policy_unknown_tool), 2');
  const { log } = aside.part('asided');
  assert.match(log, /mcp\.files .*policy\.files__putt counts for nothing/);
  assert.doesNotMatch(log, /policy\.files__put counts/);
  const doctor = async () => (await command({ ...aside, env: { ...aside.env, ASIDE_POLICY_FILES__PUTT: 'deny' } },
    'doctor', '--json')).json.findings.find((f) => f.what === 'policies');
  const fault = await doctor();
  assert.equal(fault.verdict, 'fault');
  assert.match(fault.text, /the server files does not offer/);
  files.tool('putt', {}, (call) => call.text('x'));
  await files.say({ method: 'notifications/tools/list_changed' });
  await told('mcp files: ok, 3');
  assert.equal((await doctor()).verdict, 'ok');
});
