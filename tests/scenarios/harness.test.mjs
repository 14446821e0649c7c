// nginx as configured for `aside run`, with stand-ins behind it.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import net from 'node:net';
import path from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';

import { PATH_WITH_SBIN, ROOT, eventually, freePort, startAside } from '../support/harness.mjs';
import { request } from '../support/http.mjs';
import { Program } from '../support/process.mjs';
import { BOUND } from '../support/patience.mjs';

const FAKE = path.join(ROOT, 'tests/support/fake-responder.mjs');

/** nginx with two stand-ins for responders. */
async function startFake(t, options = {}) {
  const aside = await startAside({
    t, runtime: false, programs: { 'aside.fcgi': FAKE }, ...options,
  });
  return aside;
}

function assertProblem(reply, status, code) {
  assert.equal(reply.status, status);
  assert.match(reply.headers['content-type'], /^application\/problem\+json/);
  assert.equal(reply.json.status, status);
  assert.equal(reply.json.code, code);
  assert.ok(reply.json.title.length > 0);
  assert.ok(reply.json.detail.length > 0);
}

test('nginx finds nothing wrong with its configuration', BOUND, async (t) => {
  const aside = await startFake(t);
  const run = promisify(execFile);
  const { stderr } = await run(
    'nginx', ['-t', '-e', 'stderr', '-p', aside.dir, '-c', path.join(aside.dir, 'nginx.conf')],
    { env: { ...process.env, PATH: PATH_WITH_SBIN } });
  assert.match(stderr, /test is successful/);
  assert.doesNotMatch(stderr, /\[(warn|error|emerg)\]/);
});

test('the page is served with its types; it is revalidated, and its files are kept', BOUND, async (t) => {
  const aside = await startFake(t);
  await writeFile(path.join(aside.staticDir, 'main.js'), 'export {};\n');
  await writeFile(path.join(aside.staticDir, 'en.json'), '{}\n');
  const page = await request(aside.port, 'GET', '/');
  assert.equal(page.status, 200);
  assert.match(page.headers['content-type'], /^text\/html/);
  assert.equal(page.headers['cache-control'], 'no-cache');
  assert.ok(page.headers.etag);
  const again = await request(aside.port, 'GET', '/', {
    headers: { 'if-none-match': page.headers.etag },
  });
  assert.equal(again.status, 304);
  await mkdir(path.join(aside.staticDir, 'v-0123456789ab'));
  await writeFile(path.join(aside.staticDir, 'v-0123456789ab', 'main.js'), 'export {};\n');
  const kept = await request(aside.port, 'GET', '/v-0123456789ab/main.js');
  assert.equal(kept.headers['cache-control'], 'max-age=31536000, immutable');
  await mkdir(path.join(aside.staticDir, 'v-team'));
  await writeFile(path.join(aside.staticDir, 'v-team', 'main.js'), 'export {};\n');
  const named = await request(aside.port, 'GET', '/v-team/main.js');
  assert.equal(named.headers['cache-control'], 'no-cache', 'only what is named by its content');
  const gone = await request(aside.port, 'GET', '/v-ba9876543210/main.js');
  assert.deepEqual([gone.status, gone.headers['cache-control']], [404, undefined]);
  const script = await request(aside.port, 'GET', '/main.js');
  assert.match(script.headers['content-type'], /^text\/javascript; charset=utf-8/);
  const texts = await request(aside.port, 'GET', '/en.json');
  assert.match(texts.headers['content-type'], /^application\/json/);
  const none = await request(aside.port, 'GET', '/none.js');
  assert.equal(none.status, 404);
});

test('a responder learns who asks for what', BOUND, async (t) => {
  const aside = await startFake(t);
  const { json } = await aside.api('POST', '/echo?a=1&b=%20', { x: 'ü' }, { key: 'k1' });
  assert.equal(json.body, '{"x":"ü"}');
  const { params } = json;
  assert.equal(params.REQUEST_METHOD, 'POST');
  assert.equal(params.REQUEST_URI, '/api/v1/echo?a=1&b=%20');
  assert.equal(params.QUERY_STRING, 'a=1&b=%20');
  assert.equal(params.CONTENT_TYPE, 'application/json');
  assert.equal(params.CONTENT_LENGTH, '10');
  assert.equal(params.REMOTE_ADDR, '127.0.0.1');
  assert.equal(params.SERVER_ADDR, '127.0.0.1');
  assert.equal(params.SERVER_PORT, String(aside.port));
  assert.equal(params.HTTP_HOST, `127.0.0.1:${aside.port}`);
  assert.equal(params.HTTP_IDEMPOTENCY_KEY, 'k1');
  assert.equal(params.REMOTE_USER, undefined);
});

test('what nginx answers by itself is a problem document', BOUND, async (t) => {
  const aside = await startFake(t, { responders: 1 });
  assertProblem(
    await aside.api('POST', '/echo', Buffer.alloc(256 * 1024 + 1, 'x')), 413, 'body_too_large');
  const most = await aside.api('POST', '/echo', Buffer.alloc(256 * 1024, 'x'));
  assert.equal(most.status, 200);
  assert.equal(most.json.body.length, 256 * 1024);
  assertProblem(
    await request(aside.port, 'GET', '/', { headers: { host: 'bad host' } }), 400, 'malformed');
  await aside.kill('responder-1');
  const gone = await aside.api('GET', '/echo');
  assertProblem(gone, 502, 'unavailable');
  assert.equal(gone.headers['retry-after'], '1');
  await aside.restart('responder-1');
  assert.equal((await aside.api('GET', '/echo')).status, 200);
});

test('a dead responder is passed over, and what it dropped is given to the other', BOUND, async (t) => {
  const aside = await startFake(t);
  await aside.kill('responder-2');
  for (let i = 0; i < 10; i++) {
    assert.equal((await aside.api('POST', '/echo', {})).status, 200);
  }
  await aside.restart('responder-2');
  const pids = new Set();
  for (let i = 0; i < 10; i++) {
    pids.add((await aside.api('GET', '/echo')).json.pid);
  }
  assert.equal(pids.size, 2);
  aside.part('responder-1').expected = true;
  aside.part('responder-2').expected = true;
  assertProblem(await aside.api('POST', '/die', {}), 502, 'unavailable');
  await Promise.all([aside.part('responder-1').ended, aside.part('responder-2').ended]);
});

test('a client that hangs up is told to the responder', BOUND, async (t) => {
  const aside = await startFake(t, { responders: 1 });
  const part = aside.part('responder-1');
  const count = () => part.log.split('a peer is gone').length - 1;
  const before = count();
  const hangUp = new AbortController();
  const poll = aside.api('GET', '/silence', undefined, { signal: hangUp.signal });
  const socket = net.connect(aside.port, '127.0.0.1');
  await new Promise((resolve) => socket.once('connect', resolve));
  socket.write('GET /api/v1/silence HTTP/1.1\r\nHost: localhost\r\n\r\n');
  assert.equal((await aside.api('GET', '/echo')).status, 200);
  hangUp.abort();
  await assert.rejects(poll, { name: 'AbortError' });
  socket.destroy();
  await eventually(() => count() >= before + 3, { ms: 5000, what: 'both polls are closed' });
});

test('an Aside that is given a port in use answers on another, never for its owner', BOUND, async (t) => {
  const first = await startFake(t);
  const second = await startFake(t, { port: first.port });
  assert.notEqual(second.port, first.port);
  await first.kill('responder-1');
  await first.kill('responder-2');
  assert.equal((await request(second.port, 'GET', '/api/v1/x')).status, 200);
});

test('everything may live below a prefix', BOUND, async (t) => {
  const aside = await startFake(t, { conf: { prefix: '/aside' } });
  const page = await request(aside.port, 'GET', '/aside/');
  assert.equal(page.text, '<!doctype html>a page\n');
  const { json } = await aside.api('GET', '/echo');
  assert.equal(json.params.REQUEST_URI, '/aside/api/v1/echo');
  const bare = await request(aside.port, 'GET', '/aside');
  assert.equal(bare.status, 301);
  assert.equal(bare.headers.location, '/aside/');
  const root = await request(aside.port, 'GET', '/');
  assert.equal(root.headers.location, '/aside/');
  const outside = await request(aside.port, 'GET', '/api/v1/echo');
  assert.equal(outside.status, 404);
});

test('the snippet for an existing server works in a sub-folder', BOUND, async (t) => {
  const aside = await startFake(t, { responders: 1 });
  const snippet = (await readFile(path.join(ROOT, 'nginx/snippet.conf'), 'utf8'))
    .replaceAll('/run/aside/responder.sock', path.join(aside.dir, 'responder-1.sock'))
    .replaceAll('/usr/local/lib/aside/static', aside.staticDir);
  const [, http, server] = snippet.split(/^# --- in the .* block -+$/m);
  const port = await freePort();
  const user = process.getuid() === 0 ? 'user root root;' : '';
  const temporary = ['client_body', 'fastcgi', 'proxy', 'scgi', 'uwsgi']
    .map((name) => `${name}_temp_path ${aside.dir}/other-${name};`).join('\n');
  const file = path.join(aside.dir, 'other.conf');
  await writeFile(file, `daemon off; ${user}
    pid ${aside.dir}/other.pid; error_log stderr;
    events {}
    http { access_log off; types { text/html html; } ${temporary}
      ${http}
      server { listen 127.0.0.1:${port}; ${server} } }\n`);
  const nginx = new Program('other nginx', ['nginx', '-e', 'stderr', '-p', aside.dir, '-c', file],
    { env: { ...process.env, PATH: PATH_WITH_SBIN }, orphanSignal: 'TERM' });
  t.after(() => nginx.stop());
  const page = await eventually(() => request(port, 'GET', '/aside/'));
  assert.equal(page.text, '<!doctype html>a page\n');
  const { json } = await request(port, 'GET', '/aside/api/v1/echo?x=1');
  assert.equal(json.params.REQUEST_URI, '/aside/api/v1/echo?x=1');
  assertProblem(await request(port, 'POST', '/aside/api/v1/echo', {
    headers: { 'content-type': 'application/json' }, body: Buffer.alloc(300 * 1024, 'x'),
  }), 413, 'body_too_large');
  await aside.kill('responder-1');
  assertProblem(await request(port, 'GET', '/aside/api/v1/health'), 502, 'unavailable');
});
