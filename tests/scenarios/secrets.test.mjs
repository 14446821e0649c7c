// secrets.test.mjs - keys, tokens, headers and passwords of the configuration turn
// up nowhere: not in logs, rows, replies, prompts, reports, problem details or on
// command lines, also where a server says them back.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFile, readdir } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';

import { ready } from '../support/everything.mjs';
import { bin } from '../support/harness.mjs';
import { ScriptedMcp } from '../support/scripted-mcp.mjs';
import { shelf, started } from '../support/started.mjs';
import { BOUND } from '../support/patience.mjs';

const KEY = 'sk-Herring0815modelkey';
const TOKEN = 'tok-Herring0815mcptoken';
const HEADER = 'hdr-Herring0815mcpheader';
const PASSWORD = 'pw-Herring0815searchpassword';
const SECRET = /Herring0815/;

test('no secret of the configuration is written, shown or sent on, whoever says it back', BOUND,
  async (t) => {
    const mcp = await ScriptedMcp.start({ t });
    const coded = (text) => Buffer.from(`me:${text}`).toString('base64');
    const said = `You came with ${TOKEN} and ${HEADER}, or Basic ${coded(TOKEN)}, ${coded(`x${HEADER}`)}.`;
    mcp.tool('echo', { readOnlyHint: true }, (call) => call.text(said));
    mcp.tool('fail', { readOnlyHint: true }, (call) => call.result({ isError: true,
      content: [{ type: 'text', text: said }] }));
    const { model, aside, research, whole, send, ended } = await started(t, {
      'model.key': KEY, 'mcp.a.url': mcp.url, 'mcp.a.token': TOKEN, 'mcp.a.header': `X-Key: ${HEADER}`,
      'web.search_url': `http://me:${PASSWORD}@127.0.0.1:9/search`,
    }, { library: await shelf(t) });
    await ready(aside, 'a');

    model.next('research', (req, reply) => reply.call(['a__echo', {}], ['a__fail', {}],
      ['web_search', { query: 'tides' }], ['library_search', { query: 'tides moon' }]));
    model.next('research', (req, reply) => reply.status(500, {}, { error: { message: `Wrong: ${KEY}, ${coded(KEY)}` } }));
    model.next('research', (req, reply) => reply.report('# Done\n\nThe moon pulls. [1]'));
    const first = await whole((await research('How do tides work?')).id);
    model.next('entry', (req, reply) => reply.status(401, {},
      { error: { message: `Incorrect API key provided: ${KEY}.`, type: 'invalid_request_error' } }));
    const refused = await ended((await send('Hello')).run.id);
    assert.equal(refused.state, 'failed');
    model.next('entry', (req, reply) => reply.raw(
      `data: {"error":{"message":"mid-stream: ${KEY}","code":400}}\n\n`).end());
    await ended((await send('Again')).run.id);

    // They were really used, and really said back.
    assert.ok(model.requests.every((r) => r.headers.authorization === `Bearer ${KEY}`));
    assert.ok(mcp.requests.some((r) => r.headers?.authorization === `Bearer ${TOKEN}`), 'the token was sent');
    const calls = Object.fromEntries(first.tool_calls.map((c) => [c.name, c]));
    assert.deepEqual([calls.a__echo.state, calls.a__fail.state, calls.web_search.state], ['done', 'failed', 'failed']);
    const failed = first.requests.find((q) => q.state === 'failed');
    assert.ok(failed, 'a request failed with the key in its error');

    const places = new Map();
    for (const [name, program] of aside.parts) {
      places.set(`log of ${name}`, program.log + program.out);
      places.set(`command line of ${name}`, await readFile(`/proc/${program.pid}/cmdline`, 'latin1'));
    }
    for (const name of await readdir(aside.dataDir, { recursive: true })) {
      places.set(name, await readFile(path.join(aside.dataDir, name), 'latin1').catch(() => ''));
    }
    places.set('prompts', model.requests.map((r) => r.raw.toString()).join('\n'));
    for (const where of ['/health', '/overview', '/runs', '/changes?after=0', '/audit', '/library',
      `/runs/${first.run.id}`, `/runs/${first.run.id}/report?format=md`, `/runs/${first.run.id}/report?format=html`,
      ...first.requests.map((q) => `/requests/${q.id}/input`)]) {
      places.set(where, (await aside.api('GET', where)).text);
    }
    for (const args of [['status', '--json'], ['runs', '--json'], ['audit', '--json'], ['doctor', '--json'],
      ['config', 'check', '--json']]) {
      const r = await promisify(execFile)(bin('aside'), args, { env: aside.env }).catch((e) => e);
      places.set(`aside ${args.join(' ')}`, r.stdout + r.stderr);
    }
    for (const [name, text] of places) {
      assert.doesNotMatch(text, SECRET, name);
      for (const form of [coded(TOKEN), coded(`x${HEADER}`), coded(KEY)]) {
        assert.ok(!text.includes(form.slice(8, -4)), `${name}: in base64`);
      }
    }
    assert.ok([...places.values()].some((text) => text.includes('You came with ***')), 'what was said is there, masked');
  });

test('a configuration that is wrong is refused without its secrets', BOUND, async () => {
  for (const [name, value] of [['ASIDE_MODEL_KEY', `${KEY}\u0001`], ['ASIDE_MCP_A_HEADER', HEADER],
    ['ASIDE_MODEL_URL', `ftp://me:${PASSWORD}@127.0.0.1/v1`], ['ASIDE_WEB_SEARCH_URL', `http://me:${PASSWORD}@/`],
    ['ASIDE_MCP_A_URL', `ftp://127.0.0.1/?${TOKEN}`]]) {
    const r = await promisify(execFile)(bin('aside'), ['config', 'check'],
      { env: { PATH: process.env.PATH, [name]: value } }).catch((e) => e);
    assert.equal(r.code, 1, `${name}: ${r.stdout}`);
    assert.match(r.stderr, /expected/);
    assert.doesNotMatch(r.stderr, SECRET, name);
  }
});
