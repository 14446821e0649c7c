// load.test.mjs - hostile load against the real nginx and responders: who is
// slow, who is large, who is many. Meanwhile another account is served within a
// bound, no process dies or grows without one, and afterwards all is as before.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import net from 'node:net';
import { test } from 'node:test';
import { promisify } from 'node:util';

import { eventually, startAside } from '../support/harness.mjs';
import { ScriptedModel } from '../support/scripted-model.mjs';
import { BOUND } from '../support/patience.mjs';

const SERVED_MS = 15000; // how long anybody else may wait, on a slow machine
const MB = 1024 * 1024;
const run = promisify(execFile);

// As nginx/run.conf.in has them, for a whole head and between two pieces of a body, but for what its clock may lag.
const HEAD_MS = 15000 - 500;
const BODY_MS = 20000 - 500;

const MANY = 300; // slow ones
const POLLS = 3000;

/** Most resident memory of each process, sanitizers aside. */
const MOST = { nginx: 160 * MB, 'responder-1': 96 * MB, 'responder-2': 96 * MB, asided: 96 * MB };

async function childrenOf(pid) {
  const text = await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8');
  return text.trim().split(' ').map(Number);
}

/** Pid of each process that serves. */
async function pidsOf(aside) {
  const [worker] = await childrenOf(aside.part('nginx').pid);
  const pids = { nginx: worker };
  for (const name of ['responder-1', 'responder-2', 'asided']) {
    pids[name] = aside.part(name).pid;
  }
  return pids;
}

async function memoryOf(pids) {
  const out = {};
  for (const [name, pid] of Object.entries(pids)) {
    const text = await readFile(`/proc/${pid}/status`, 'utf8');
    out[name] = Number(/VmRSS:\s+(\d+)/.exec(text)[1]) * 1024;
  }
  return out;
}

/** A connection in the test's hand: what comes back, and when it is over. */
class Peer {
  constructor(port, text = '') {
    this.text = '';
    this.error = null;
    this.lived = null; // ms, once it is over
    const began = Date.now();
    this.socket = net.connect(port, '127.0.0.1', () => this.socket.write(text));
    this.socket.setEncoding('latin1').setNoDelay(true);
    this.socket.on('error', (error) => { this.error = error; });
    this.open = new Promise((resolve) => this.socket.once('connect', resolve).once('close', resolve));
    this.first = new Promise((resolve) => {
      this.socket.on('data', (piece) => {
        this.text += piece;
        resolve();
      });
      this.socket.once('close', resolve);
    });
    this.over = new Promise((resolve) => this.socket.once('close', () => {
      this.lived = Date.now() - began;
      resolve();
    }));
  }

  /** Of the first reply; 0: none came. */
  get status() {
    return Number(/^HTTP\/1\.1 (\d+)/.exec(this.text)?.[1] ?? 0);
  }

  end() {
    this.socket.destroy();
  }
}

const head = (method, where, fields = {}) => [
  `${method} ${where} HTTP/1.1`, 'Host: 127.0.0.1', 'X-User: mallory',
  ...Object.entries(fields).map(([name, value]) => `${name}: ${value}`), '', ''].join('\r\n');
const json = (length) => ({
  'Content-Type': 'application/json', 'Idempotency-Key': randomUUID(), 'Content-Length': length });

class Stage {
  static async start(t) {
    const stage = new Stage();
    const model = await ScriptedModel.start({ t });
    stage.aside = await startAside({
      t, model, san: false, connections: 9000,
      conf: {
        auth: 'proxy', 'log.level': 'warn', 'short.limit': 3,
        'limit.account_per_minute': 1200, 'poll.max_per_account': 0,
      },
      nginx: (text) => text.replace(
        /^( *)fastcgi_param REMOTE_ADDR/m, '$1fastcgi_param REMOTE_USER $http_x_user;\n$&'),
    });
    stage.port = stage.aside.port;
    stage.pids = await pidsOf(stage.aside);
    stage.top = await memoryOf(stage.pids);
    stage.now = stage.top;
    const made = await stage.api('ann', 'POST', '/conversations', {});
    stage.at = `/conversations/${made.json.conversation.id}`;
    stage.feed = stage.aside.feed({ headers: { 'x-user': 'ann' } });
    return stage;
  }

  api(user, method, where, body, more = {}) {
    return this.aside.api(method, where, body, { ms: SERVED_MS, ...more, headers: { 'x-user': user } });
  }

  /** What a person does: looks, sends, is answered. Milliseconds of the slowest. */
  async work(user = 'ann', rounds = 3) {
    let slowest = 0;
    for (let i = 0; i < rounds; i++) {
      const began = Date.now();
      const health = await this.api(user, 'GET', '/health');
      assert.equal(health.status, 200, health.text);
      const sent = await this.api(user, 'POST', `${this.at}/messages`, { body: `How is it? ${i}` });
      assert.equal(sent.status, 202, sent.text);
      slowest = Math.max(slowest, Date.now() - began);
      assert.ok(slowest < SERVED_MS, `served after ${slowest} ms`);
      await this.feed.until((s) => s.runs.get(sent.json.run.id)?.state === 'completed',
        { guard: () => this.aside.guard() });
    }
    return slowest;
  }

  async measure() {
    const now = await memoryOf(this.pids);
    this.now = now;
    for (const [name, bytes] of Object.entries(now)) {
      this.top[name] = Math.max(this.top[name], bytes);
      assert.ok(bytes < MOST[name], `${name} takes ${Math.round(bytes / MB)} MB`);
    }
    return now;
  }

  /** Until the responders hold so many descriptors more than at rest. */
  async held(n) {
    await eventually(async () => {
      const pids = [this.pids['responder-1'], this.pids['responder-2']];
      const open = await Promise.all(pids.map((pid) => readdir(`/proc/${pid}/fd`)));
      return open[0].length + open[1].length >= n;
    }, { what: `${n} polls are held` });
  }

  /** A poll of mallory's that nothing ends but its time. */
  async idlePoll(wait) {
    const { json: { as_of: after } } = await this.api('mallory', 'GET', '/overview');
    return head('GET', `/api/v1/changes?after=${after}&wait=${wait}`, { Connection: 'close' });
  }

  /** Do work beside an attack, whose peers then leave; work goes on after it. */
  async beside(t, name, peers, also = async () => {}) {
    const before = this.now;
    await this.measure();
    const slowest = await this.work();
    await also();
    const during = await this.measure();
    for (const peer of peers) {
      peer.end();
    }
    await Promise.all(peers.map((peer) => peer.over));
    await this.work('ann', 1);
    const after = await this.measure();
    t.diagnostic(`${name}: others within ${slowest} ms; MB before/during/after: ${Object.keys(after)
      .map((who) => [who, ...[before, during, after].map((m) => Math.round(m[who] / MB))].join(' '))
      .join(', ')}`);
  }
}

/** A byte of a text every second until the peer is closed; resolves after two. */
function drip(peer, text) {
  let at = 0;
  let last = Date.now();
  peer.pause = 0; // the longest between two bytes
  return new Promise((resolve) => {
    const timer = setInterval(() => {
      peer.socket.write(text[at++ % text.length]);
      peer.pause = Math.max(peer.pause, Date.now() - last);
      last = Date.now();
      if (at === 2) {
        resolve();
      }
    }, 1000);
    peer.over.then(() => {
      clearInterval(timer);
      resolve();
    });
  });
}

/** Of the slow senders, those who were sent away before their time. A head has a time in all, so that on a slow
 * machine it may be over; a body only has one for the pause between two bytes. */
function sentAway(heads, bodies) {
  return [...heads.filter((peer) => peer.lived !== null && peer.lived < HEAD_MS),
    ...bodies.filter((peer) => peer.lived !== null && peer.pause < BODY_MS)]
    .map((peer) => [heads.includes(peer) ? 'head' : 'body', peer.lived, peer.pause, peer.error?.code,
      peer.text.slice(0, 300)]);
}

async function slowSenders(t, stage) {
  const heads = [];
  const bodies = [];
  const dripping = [];
  for (let i = 0; i < MANY; i++) {
    bodies.push(new Peer(stage.port, head('POST', '/api/v1/conversations', json(200000))));
    heads.push(new Peer(stage.port, 'GET /api/v1/health HTTP/1.1\r\nX-Slow: '));
    dripping.push(drip(bodies.at(-1), '{"title":"'), drip(heads.at(-1), 'x'));
  }
  await Promise.all(dripping);
  await stage.beside(t, `${2 * MANY} slow senders`, [...bodies, ...heads], async () => {
    const gone = sentAway(heads, bodies);
    assert.equal(gone.length, 0, `${gone.length} were sent away: ${JSON.stringify(gone.slice(0, 3))}\n${
      stage.aside.tails(10)}`);
  });
}

async function slowReaders(t, stage) {
  const made = await stage.api('mallory', 'POST', '/conversations', {});
  const at = `/conversations/${made.json.conversation.id}`;
  for (let i = 0; i < 6; i++) {
    await eventually(async () => (await stage.api('mallory', 'POST', `${at}/messages`,
      { body: 'x'.repeat(60000) })).status === 202);
  }
  const peers = [];
  for (let i = 0; i < MANY; i++) {
    const peer = new Peer(stage.port);
    peer.socket.pause();
    peer.socket.write(head('GET', `/api/v1${at}`).repeat(4));
    peers.push(peer);
  }
  await Promise.all(peers.map((peer) => peer.open));
  await stage.beside(t, `${MANY} slow readers`, peers);
}

/** All of them are woken by one message, and get it. */
async function heldPolls(t, stage) {
  const { json: { as_of: after } } = await stage.api('ann', 'GET', '/overview');
  const poll = head('GET', `/api/v1/changes?after=${after}&wait=55`).replace('mallory', 'ann');
  const peers = [];
  for (let i = 0; i < POLLS; i++) {
    peers.push(new Peer(stage.port, poll));
    if (i % 200 === 0) {
      await peers.at(-1).open;
    }
  }
  await stage.held(POLLS);
  await stage.beside(t, `${POLLS} held polls`, peers, async () => {
    await Promise.all(peers.map((peer) => peer.first));
    const wrong = peers.filter((peer) => peer.status !== 200);
    assert.equal(wrong.length, 0, `${wrong.length} polls without a reply, one of them: ${wrong[0]?.text}`);
  });
}

/** What a bomb is answered; those who send it all the same may be cut off. */
async function refused(stage, name, text, statuses, { closes = false } = {}) {
  const began = Date.now();
  const peer = new Peer(stage.port, text);
  if (closes) {
    await peer.open;
    peer.socket.end();
  }
  const timer = setTimeout(() => peer.end(), SERVED_MS);
  await peer.first;
  clearTimeout(timer);
  assert.ok(statuses.includes(peer.status), `${name}: ${peer.status} after ${Date.now() - began} ms; ${
    peer.error} ${peer.text.slice(0, 300)}`);
  if (peer.status >= 400) {
    assert.match(peer.text, /application\/problem\+json/, name);
  }
  peer.end();
}

async function headBombs(stage) {
  await refused(stage, 'a long line', head('GET', '/api/v1/health', { 'X-A': 'a'.repeat(20000) }), [431]);
  await refused(stage, 'many fields', head('GET', '/api/v1/health', Object.fromEntries(
    Array.from({ length: 3000 }, (_, i) => [`X-Field-${i}`, 'some value']))), [431]);
  await refused(stage, 'a head without end', `GET / HTTP/1.1\r\n${'X-A: b\r\n'.repeat(100000)}`, [431]);
  await refused(stage, 'a long address', head('GET', `/api/v1/search?q=${'a'.repeat(20000)}`), [414]);
  await refused(stage, 'a long cookie', head('GET', '/api/v1/health', { Cookie: 'a'.repeat(9000) }), [431]);
  await refused(stage, 'many cookies', head('GET', '/api/v1/health', { Cookie: 'a=b;'.repeat(1900) }), [200]);
}

async function bodyBombs(stage) {
  const post = (body, fields = {}) => head('POST', '/api/v1/conversations',
    { ...json(Buffer.byteLength(body)), ...fields }) + body;
  const chunked = { ...json(0), 'Transfer-Encoding': 'chunked' };
  delete chunked['Content-Length'];
  const chunk = `8000\r\n${'x'.repeat(0x8000)}\r\n`;
  const endless = head('POST', '/api/v1/conversations', chunked) + chunk.repeat(20);

  await refused(stage, 'a gigabyte', head('POST', '/api/v1/conversations', json(2 ** 30)), [413]);
  await refused(stage, 'chunks without end', endless, [413]);
  await refused(stage, 'a length of 400 digits', head('POST', '/api/v1/conversations', json('9'.repeat(400))), [400, 413]);
  await refused(stage, 'a length below nought', head('POST', '/api/v1/conversations', json('-1')), [400]);
  await refused(stage, 'less than announced', post('{', { 'Content-Length': 100 }), [0, 400], { closes: true });
  await refused(stage, 'more than announced', post('{}GET / HTTP/9\r\n', { 'Content-Length': 2 }), [201]);
  const zip = post('\u001f\u008b\b\u0000xxxx', { 'Content-Encoding': 'gzip' });
  await refused(stage, 'gzip', zip, [400, 415]);

  const deep = (n) => `{"title":${'['.repeat(n)}${']'.repeat(n)}}`;
  await refused(stage, 'deep', post(deep(100)), [400, 422]);
  await refused(stage, 'very deep', post(deep(100000)), [400]);
  await refused(stage, 'deep objects', post('{"a":'.repeat(40000)), [400]);
  const members = (n) => `{${Array.from({ length: n }, (_, i) => `"${i.toString(36)}":0`).join(',')}}`;
  await refused(stage, 'a million members', post(members(1000000)), [413]);
  await refused(stage, 'as many members as fit', post(members(27000)), [400, 422]);
  await refused(stage, 'as many names alike', post(`{${'"title":"a",'.repeat(20000)}"title":"b"}`), [400]);
  await refused(stage, 'a huge number', post('{"title":1e99999}'), [400, 422]);
  await refused(stage, 'a number of 200000 digits', post(`{"title":${'9'.repeat(200000)}}`), [400, 422]);
  await refused(stage, 'a huge cursor', head('GET', `/api/v1/changes?after=${'9'.repeat(300)}`), [400, 422]);
  await refused(stage, 'a huge id', head('GET', `/api/v1/runs/run_${'9'.repeat(300)}`), [404]);
}

async function bombs(t, stage) {
  const peers = [];
  await stage.beside(t, 'bombs', peers, async () => {
    await Promise.all([headBombs(stage), bodyBombs(stage)]);
  });
}

/** The soft limit alone, so that it can be raised again. */
const descriptors = (pid, n) => run('prlimit', ['--pid', String(pid), `--nofile=${n}:`]);

/** nginx can open no more: newcomers wait or are told 503, and polls end. */
async function fewDescriptors(t, stage) {
  const { nginx } = stage.pids;
  await descriptors(nginx, 160);
  const poll = await stage.idlePoll(2);
  const peers = Array.from({ length: 400 }, () => new Peer(stage.port, poll));
  await Promise.all(peers.map((peer) => peer.over));
  const statuses = new Map();
  for (const { status } of peers) {
    statuses.set(status, (statuses.get(status) ?? 0) + 1);
  }
  t.diagnostic(`nginx with 160 descriptors, 400 at once: ${JSON.stringify([...statuses])}`);
  for (const peer of peers) {
    assert.ok([200, 503].includes(peer.status), `${peer.status} ${peer.error} ${peer.text.slice(0, 300)}`);
  }
  await stage.beside(t, 'nginx with 160 descriptors', peers);
  await descriptors(nginx, 9096);
}

/** Responders with few descriptors hold few polls and answer the rest at once. */
async function fewInResponders(t, stage) {
  const { aside } = stage;
  const names = ['responder-1', 'responder-2'];
  const again = async (before) => {
    for (const name of names) {
      await aside.part(name).stop();
      aside.launch(name, {}, before);
    }
    await aside.ready();
    stage.pids = await pidsOf(aside);
  };
  await again(['prlimit', '--nofile=200:200']);
  const poll = await stage.idlePoll(55);
  const peers = Array.from({ length: 400 }, () => new Peer(stage.port, poll));
  let ended = 0;
  peers.forEach((peer) => peer.over.then(() => { ended++; }));
  await eventually(() => ended >= 200, { what: 'polls beyond the limit are answered' });
  await stage.beside(t, 'responders with 200 descriptors', peers, async () => {
    const answered = peers.filter((peer) => peer.socket.destroyed);
    assert.ok(answered.length < 400, 'some are held');
    assert.deepEqual(answered.filter((peer) => peer.status !== 200).map((peer) => peer.text), []);
    t.diagnostic(`${400 - answered.length} of 400 polls are held`);
  });
  await again();
}

/** More writes than a minute may hold: some are taken, the rest told so. */
async function flood(t, stage) {
  let taken = 0;
  let refusedOnes = 0;
  let going = true;
  const send = async () => {
    while (going) {
      const reply = await stage.api('mallory', 'POST', '/conversations', {});
      assert.ok([201, 429, 503].includes(reply.status), reply.text);
      taken += reply.status === 201;
      refusedOnes += reply.status === 429;
      if (reply.status === 429) {
        assert.equal(reply.json.code, 'rate_limited');
        assert.ok(Number(reply.headers['retry-after']) >= 1);
      }
    }
  };
  const senders = Array.from({ length: 48 }, send);
  await eventually(() => refusedOnes > 500, { ms: 90000, what: 'writes are refused' });
  await stage.beside(t, 'a flood of writes', []);
  going = false;
  await Promise.all(senders);
  t.diagnostic(`a flood of writes: ${taken} taken, ${refusedOnes} refused`);
  // Two responders, a minute's worth each, and what came in meanwhile.
  assert.ok(taken >= 1200, `${taken} taken`);
  await eventually(async () => (await stage.api('mallory', 'POST', '/conversations', {})).status === 201);
}

const ATTACKS = [
  ['hundreds who send a byte a second', slowSenders],
  ['hundreds who do not read what they asked for', slowReaders],
  ['thousands of held polls, woken by one message', heldPolls],
  ['bombs of heads, bodies, nesting and numbers', bombs],
  ['nginx without descriptors', fewDescriptors],
  ['responders with few descriptors', fewInResponders],
  ['a flood of writes', flood],
];

test('hostile load: others are served, memory is bounded, and it recovers by itself', BOUND, async (t) => {
  const stage = await Stage.start(t);
  await stage.work();
  const { nginx, asided } = stage.pids;
  for (const [name, attack] of ATTACKS) {
    const began = Date.now();
    await t.test(name, BOUND, (inner) => attack(inner, stage));
    t.diagnostic(`${name}: ${Date.now() - began} ms`);
  }
  assert.deepEqual(await pidsOf(stage.aside), { ...stage.pids, nginx, asided }, 'nobody died');
  t.diagnostic(`most MB: ${Object.entries(stage.top).map(([name, n]) => `${name} ${Math.round(n / MB)}`).join(', ')}`);
});
