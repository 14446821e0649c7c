// attack-responder-wire.test.mjs - what no web server would send: broken FastCGI, and
// HTTP that means to be understood in two ways.

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { readFile, readdir } from 'node:fs/promises';
import net from 'node:net';
import path from 'node:path';
import { test } from 'node:test';

import {
  ABORT, BEGIN, GET_VALUES, LOCAL, PARAMS, STDIN, begin, converse, pairs, params, record,
} from '../support/fastcgi.mjs';
import { eventually } from '../support/harness.mjs';
import { startWriting } from '../support/writing.mjs';
import { BOUND } from '../support/patience.mjs';

const BODY = '{"title":"x"}';
const post = (values = {}) => ({
  REQUEST_METHOD: 'POST', REQUEST_URI: '/api/v1/conversations', CONTENT_TYPE: 'application/json',
  CONTENT_LENGTH: String(BODY.length), HTTP_IDEMPOTENCY_KEY: randomUUID(), ...values,
});
const end = record(STDIN, 1);
const names = { FCGI_MAX_CONNS: '', FCGI_MAX_REQS: '', FCGI_MPXS_CONNS: '' };

/** What is sent, and the status that comes back. */
const RECORDS = {
  'a question about the program': [[record(GET_VALUES, 0, pairs(names)), begin(), params(), end], '200'],
  'another version': [[record(BEGIN, 1, [0, 1, 0, 0, 0, 0, 0, 0], { version: 2 }), params(), end], 'nothing'],
  'another role': [[begin(1, 2), params(), end], 'nothing'],
  'a role that nobody knows': [[begin(1, 9), params(), end], 'nothing'],
  'a wish to keep the connection': [[begin(1, 1, 1), params(), end], '200'],
  'a beginning too short': [[record(BEGIN, 1, [0, 1]), params(), end], 'nothing'],
  'two requests in one connection': [[begin(), begin(2), params(), end], '200'],
  'records of another request between': [
    [begin(), record(PARAMS, 7, pairs({ REQUEST_METHOD: 'PUT' })), params(), record(STDIN, 7, 'x'), end], '200'],
  'an end before the variables': [[begin(), record(ABORT, 1)], 'nothing'],
  'an end among the variables': [[begin(), record(PARAMS, 1, pairs(LOCAL)), record(ABORT, 1)], 'nothing'],
  'an end in the body': [[begin(), params(post()), record(STDIN, 1, BODY), record(ABORT, 1)], '400'],
  'a body without variables': [[begin(), record(PARAMS, 1, pairs(LOCAL)), end], 'nothing'],
  'a value longer than all': [[begin(), record(PARAMS, 1, Buffer.from([5, 200, 65, 66])), record(PARAMS, 1), end], 'nothing'],
  'lengths that overflow': [[begin(), record(PARAMS, 1, Buffer.concat(
    [Buffer.alloc(8, 255), Buffer.alloc(60000, 65)])), record(PARAMS, 1), end], 'nothing'],
  'a variable without name': [[begin(), record(PARAMS, 1, Buffer.concat(
    [pairs(LOCAL), Buffer.alloc(2)])), record(PARAMS, 1), end], '200'],
  'a body longer than announced': [[begin(), params(post()), record(STDIN, 1, `${BODY}  `), end], '400'],
  'a body shorter than announced': [[begin(), params(post()), record(STDIN, 1, '{}'), end], '400'],
  'padding': [[begin(), params(post()), record(STDIN, 1, BODY, { pad: 255 }), end], '201'],
};

test('broken records harm nobody, and pass for nothing that they are not', BOUND, async (t) => {
  const { aside } = await startWriting(t, { responders: 1 });
  const socket = path.join(aside.dir, 'responder-1.sock');
  for (const [name, [records, status]] of Object.entries(RECORDS)) {
    await t.test(name, async () => {
      assert.equal(await converse(socket, [Buffer.concat(records)]), status);
    });
  }
  await t.test('a byte at a time', async () => {
    const bytes = Buffer.concat([begin(), params(post()), record(STDIN, 1, BODY), end]);
    assert.equal(await converse(socket, Array.from(bytes, (byte) => Buffer.from([byte]))), '201');
  });
  assert.equal((await aside.api('GET', '/health')).status, 200);
});

test('a responder that is stopped and goes on goes on with the request in hand', BOUND, async (t) => {
  const { aside } = await startWriting(t, { responders: 1 });
  const socket = path.join(aside.dir, 'responder-1.sock');
  const { pid } = aside.part('responder-1');
  const head = Buffer.concat([begin(), params(post())]);
  const body = Buffer.concat([record(STDIN, 1, BODY), end]);
  const threads = async () => Promise.all((await readdir(`/proc/${pid}/task`)).map(
    (id) => readFile(`/proc/${pid}/task/${id}/wchan`, 'utf8').catch(() => '')));
  /** A pause of the process once a thread waits for the peer in this place. */
  const pauseIn = (where) => async (n) => {
    if (n === 0) {
      await eventually(async () => (await threads()).some((name) => where.test(name) || name === '0'));
      process.kill(pid, 'SIGSTOP');
      await eventually(async () => /\) T /.test(await readFile(`/proc/${pid}/stat`, 'utf8')));
      process.kill(pid, 'SIGCONT');
    }
  };
  const calls = [
    [/^(do_sys_)?poll/, [Buffer.alloc(0), Buffer.concat([head, body])]],
    [/^unix_stream/, [head, body]],
  ];
  for (const [where, pieces] of calls) {
    for (let n = 0; n < 5; n++) {
      assert.match(await converse(socket, pieces, pauseIn(where)), /^201$/);
    }
  }
});

/** Bytes to nginx as they are; every status that comes back, in order. */
function raw(port, bytes) {
  return new Promise((resolve, reject) => {
    const peer = net.connect(port, '127.0.0.1', () => peer.write(bytes));
    let text = '';
    peer.setEncoding('latin1').on('data', (chunk) => { text += chunk; });
    peer.on('close', () => resolve([...text.matchAll(/^HTTP\/1\.1 (\d+)/gm)].map((m) => m[1]).join(' ')));
    peer.on('error', (error) => (error.code === 'ECONNRESET' ? undefined : reject(error)));
  });
}

const get = (target, ...headers) => `${[`GET ${target} HTTP/1.1`, 'Connection: close', ...headers].join('\r\n')}\r\n\r\n`;
const put = (body, ...headers) => `${['POST /api/v1/conversations HTTP/1.1', 'Host: localhost',
  'Connection: close', 'Content-Type: application/json', `Idempotency-Key: ${randomUUID()}`,
  ...headers].join('\r\n')}\r\n\r\n${body}`;
const LOCALHOST = 'Host: localhost';
const OVERVIEW = '/api/v1/overview';

const HTTP = {
  'a plain question': [get(OVERVIEW, LOCALHOST), '200'],
  'a Host of its own in another case, with a port': [get(OVERVIEW, 'Host: LocalHost:80'), '200'],
  'two Hosts': [get(OVERVIEW, LOCALHOST, 'Host: evil'), '400'],
  'a foreign Host': [get(OVERVIEW, 'Host: evil'), '403'],
  'a Host that begins like ours': [get(OVERVIEW, 'Host: localhost.evil'), '403'],
  'a Host with a user before it': [get(OVERVIEW, 'Host: evil@localhost'), '403'],
  'an absolute address': [get(`http://localhost${OVERVIEW}`, LOCALHOST), '200'],
  'an absolute address, and a foreign Host': [get(`http://localhost${OVERVIEW}`, 'Host: evil'), '403'],
  'a forwarded request': [get(OVERVIEW, LOCALHOST, 'X-Forwarded-For: 127.0.0.1'), '403'],
  'one that says so emptily': [get(OVERVIEW, LOCALHOST, 'Forwarded:'), '403'],
  'a name of the web server': [get(OVERVIEW, LOCALHOST, 'Remote-User: root', 'Remote-Addr: 10.0.0.1'), '200'],
  'dots that lead out': [get('/api/v1/../../etc/passwd', LOCALHOST), '404'],
  'dots in escapes': [get('/api/v1/%2e%2e/%2e%2e/etc/passwd', LOCALHOST), '404'],
  'dots that lead back': [get('/api/v1/x/../overview', LOCALHOST), '404'],
  'escapes for letters': [get('/api/v1/%6fverview', LOCALHOST), '200'],
  'an escaped escape': [get('/api/v1/%256fverview', LOCALHOST), '404'],
  'an escaped slash': [get('/api/v1%2foverview', LOCALHOST), '200'],
  'an escaped NUL': [get('/api/v1/overview%00', LOCALHOST), '400'],
  'overlong UTF-8': [get('/api/v1/%c0%afoverview', LOCALHOST), '404'],
  'a surrogate in UTF-8': [get('/api/v1/%ed%a0%80', LOCALHOST), '404'],
  'a broken escape': [get('/api/v1/overview%2', LOCALHOST), '400'],
  'two slashes': [get('//api/v1/overview', LOCALHOST), '404'],
  'a long query': [get(`${OVERVIEW}?q=${'x'.repeat(7000)}`, LOCALHOST), '200'],
  'a query too long': [get(`${OVERVIEW}?q=${'x'.repeat(70000)}`, LOCALHOST), '414'],
  'more parameters than are read': [get(`${OVERVIEW}?${'a=1&'.repeat(500)}`, LOCALHOST), '400'],
  'a header too long': [get(OVERVIEW, LOCALHOST, `X: ${'x'.repeat(70000)}`), '431'],
  'a body with two lengths': [put('{}', 'Content-Length: 2', 'Content-Length: 3'), '400'],
  'a length and chunks': [put('2\r\n{}\r\n0\r\n\r\n', 'Content-Length: 2', 'Transfer-Encoding: chunked'), '400'],
  'chunks, and a request behind them': [put(`2\r\n{}\r\n0\r\n\r\n${get(OVERVIEW, LOCALHOST)}`, 'Transfer-Encoding: chunked'), '201'],
  'two types': [put('{}', 'Content-Length: 2', 'Content-Type: text/plain'), '201 400'],
  'two keys': [put('{}', 'Content-Length: 2', 'Idempotency-Key: other'), '422'],
  'two Origins': [put('{}', 'Content-Length: 2', 'Origin: http://localhost', 'Origin: http://evil'), '403'],
  'an Origin that begins like ours': [put('{}', 'Content-Length: 2', 'Origin: http://localhost.evil'), '403'],
  'no Origin at all': [put('{}', 'Content-Length: 2', 'Origin: null'), '403'],
  'another site': [put('{}', 'Content-Length: 2', 'Sec-Fetch-Site: cross-site'), '403'],
  'a mark before the JSON': [put('\u00ef\u00bb\u00bf{}', 'Content-Length: 5'), '400'],
  'a huge number': [put('{"title":1e999}', 'Content-Length: 15'), '400 422'],
  'the same member in escapes': [put('{"title":"a","\\u0074itle":"b"}', 'Content-Length: 30'), '400'],
};

test('HTTP that means to be understood in two ways is understood in one', BOUND, async (t) => {
  const { aside } = await startWriting(t);
  for (const [name, [bytes, statuses]] of Object.entries(HTTP)) {
    await t.test(name, async () => {
      const status = await raw(aside.port, Buffer.from(bytes, 'latin1'));
      assert.ok(statuses.split(' ').includes(status), `${status}, not ${statuses}`);
    });
  }
});

test('a name that the web server gives is a name, whatever stands in it', BOUND, async (t) => {
  const { aside, sql } = await startWriting(t, { responders: 1, conf: { auth: 'proxy' } });
  const socket = path.join(aside.dir, 'responder-1.sock');
  const ask = (values) => converse(socket, [Buffer.concat([begin(), params(values), end])]);
  const make = (user) => converse(socket, [Buffer.concat([
    begin(), params(post({ REMOTE_USER: user })), record(STDIN, 1, BODY), end])]);
  const view = { REQUEST_URI: OVERVIEW };
  assert.equal(await ask(view), '401');
  assert.equal(await ask({ ...view, REMOTE_USER: '' }), '401');
  assert.equal(await ask({ ...view, HTTP_REMOTE_USER: 'root' }), '401', 'a header is no name');
  assert.equal(await ask({ ...view, REMOTE_USER: Buffer.from([0xff]).toString('latin1') }), '200');
  const names = ['me', "o'neill; --", '../../x', 'a b', 'ünïcode', 'A', 'a', 'x'.repeat(255)];
  for (const name of names) {
    assert.equal(await make(name), '201', name);
  }
  assert.equal(await make('x'.repeat(256)), '401');
  assert.equal(await sql('SELECT count(DISTINCT account_id) FROM conversation'), String(names.length));
});
