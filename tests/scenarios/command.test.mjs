// command.test.mjs - the command line beside a running Aside: status, runs, watch,
// config check and doctor, for a person and as JSON.

import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile, rm, writeFile } from 'node:fs/promises';
import http from 'node:http';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { test } from 'node:test';
import { promisify } from 'node:util';

import { bin, temporaryDir } from '../support/harness.mjs';
import { bodyOf } from '../support/http.mjs';
import { started } from '../support/started.mjs';
import { BOUND } from '../support/patience.mjs';

const run = (env, ...args) => promisify(execFile)(bin('aside'), args, { env })
  .then((r) => ({ code: 0, ...r }), (e) => ({ code: e.code, stdout: e.stdout, stderr: e.stderr }));
const asJson = async (env, ...args) => {
  const r = await run(env, ...args, '--json');
  assert.match(r.stdout, /^\{.*\}\n$/, r.stderr);
  return { code: r.code, ...JSON.parse(r.stdout) };
};

test('status says whether all is well, and what is not', BOUND, async (t) => {
  const { aside, model, research, ended } = await started(t);
  model.next('research', async (req, reply) => {
    reply.text('I look ');
    await reply.hold('looking');
    reply.report('Done.');
  });
  const { id } = await research('How do tides work?');
  const held = await model.held('looking');
  const well = await asJson(aside.env, 'status');
  assert.deepEqual([well.code, well.ok, well.runtime, well.model, well.active_runs, well.active_research],
    [0, true, 'ok', 'ok', 1, 1]);
  const { feed } = (await aside.api('GET', '/overview')).json;
  assert.deepEqual([well.feed, well.data], [feed, aside.dataDir]);
  held.release();
  await ended(id);
  await aside.kill('asided');
  const ill = await asJson(aside.env, 'status');
  assert.deepEqual([ill.code, ill.ok, ill.runtime], [1, false, 'absent']);
  const { code, stdout } = await run(aside.env, 'status');
  assert.equal(code, 1);
  assert.match(stdout, /^runtime +absent: nothing is answered$/m);
});

test('looking at what is not there says so and creates nothing', BOUND, async (t) => {
  const dir = await temporaryDir();
  t.after(() => rm(dir, { recursive: true, force: true }));
  const env = { ...process.env, ASIDE_DATA: path.join(dir, 'nowhere') };
  for (const verb of ['status', 'runs', 'watch', 'audit', 'doctor']) {
    const r = await run(env, verb);
    assert.equal(r.code, 1, verb);
    assert.match(r.stderr, /there is no database; start Aside once, or name its configuration with -c/);
  }
  await assert.rejects(promisify(execFile)('ls', [path.join(dir, 'nowhere')]));
  for (const wrong of [['status', 'x'], ['status', '-n', '3'], ['runs', '-n', '0'], ['runs', '-n', 'x'],
    ['watch', 'a', 'b'], ['audit', '--what'], ['doctor', '-w', '56'], ['config'], ['config', 'change']]) {
    const r = await run(env, ...wrong);
    assert.equal(r.code, 2, wrong.join(' '));
    assert.match(r.stderr, new RegExp(`usage: aside ${wrong[0]} `));
  }
});

test('runs lists what an account has, by state', BOUND, async (t) => {
  const { aside, model, send, research, ended, stop } = await started(t);
  await ended((await send('Hello')).run.id);
  model.next('research', async (req, reply) => {
    reply.text('I look ');
    await reply.hold('looking');
  });
  const active = await research('research: How do tides work?');
  await model.held('looking');
  const all = await asJson(aside.env, 'runs');
  assert.deepEqual(all.runs.map((r) => [r.id, r.kind, r.state]),
    [[active.id, 'research', 'running'], ['run_1', 'short', 'completed']]);
  assert.deepEqual((await asJson(aside.env, 'runs', 'active')).runs.map((r) => r.id), [active.id]);
  assert.deepEqual((await asJson(aside.env, 'runs', '-n', '1', 'completed')).runs.map((r) => r.id), ['run_1']);
  const line = (await run(aside.env, 'runs', 'active')).stdout.trim().split('\t');
  assert.deepEqual([line[0], line[2], line[3], line[4], line[6]],
    [active.id, 'research', 'running', 'researching', 'How do tides work?']);
  const wrong = await run(aside.env, 'runs', 'asleep');
  assert.deepEqual([wrong.code, wrong.stdout], [1, '']);
  assert.match(wrong.stderr, /asleep: expected active, running,/);
  assert.match((await run(aside.env, 'runs', '-a', 'nobody')).stderr, /nobody: there is no such account/);
  await stop(active.id);
});

test('watch tells of a Run until it ends, and how', BOUND, async (t) => {
  const { aside, model, research, stop } = await started(t);
  const watched = async (end) => {
    model.next('research', async (req, reply) => {
      reply.text('I look ');
      await reply.hold('looking');
      reply.report('Done.');
    });
    const { id } = await research('How do tides work?');
    const held = await model.held('looking');
    const child = spawn(bin('aside'), ['watch', '--json', id], { env: aside.env });
    const exit = once(child, 'exit');
    const lines = [];
    let watching = () => {};
    const isWatching = new Promise((resolve) => {
      watching = resolve;
    });
    const reading = (async () => {
      for await (const line of createInterface({ input: child.stdout })) {
        lines.push(JSON.parse(line));
        watching();
      }
    })();
    await isWatching;
    await end(id, held);
    const [code] = await exit;
    await reading;
    return { id, code, lines };
  };
  const done = await watched((id, held) => held.release());
  assert.equal(done.code, 0);
  const stopped = await watched((id) => stop(id));
  assert.equal(stopped.code, 1);
  for (const { id, lines, code } of [done, stopped]) {
    assert.ok(lines.every((x) => x.run_id === id), JSON.stringify(lines));
    assert.equal(lines[0].state, 'running');
    assert.equal(lines.findLast((x) => x.state).state, code === 0 ? 'completed' : 'stopped');
  }
  assert.ok(done.lines.some((x) => x.kind === 'request.updated'), 'and of what it does');
  // One that has ended is told of at once.
  assert.equal((await run(aside.env, 'watch', done.id)).code, 0);
  assert.match((await run(aside.env, 'watch', 'run_99')).stderr, /no such Run of this account/);
});

test('config check takes what a start would take, and names what is wrong', BOUND, async (t) => {
  const dir = await temporaryDir();
  t.after(() => rm(dir, { recursive: true, force: true }));
  const file = path.join(dir, 'aside.conf');
  const env = { PATH: process.env.PATH };
  await writeFile(file, 'short.limit = 5\n');
  assert.deepEqual(await asJson(env, 'config', 'check', '-c', file), { code: 0, ok: true, error: null });
  await writeFile(file, '# mine\nmodle.url = http://127.0.0.1/v1\n');
  const wrong = await asJson(env, 'config', 'check', '-c', file);
  assert.deepEqual([wrong.code, wrong.ok], [1, false]);
  assert.match(wrong.error, /aside\.conf:2: unknown key "modle\.url"/);
  assert.match((await run(env, 'config', 'check', '-c', `${file}.gone`)).stderr, /aside: configuration: /);
});

/** A web server in front of Aside that does with each request what it is told. */
async function front(t, port, take) {
  const server = http.createServer(async (req, res) => {
    const body = await bodyOf(req);
    if (take(req, res)) {
      return;
    }
    const to = http.request({ port, host: '127.0.0.1', path: req.url, method: req.method,
      headers: { ...req.headers, host: `127.0.0.1:${port}` } }, (from) => {
      res.writeHead(from.statusCode, from.headers);
      from.pipe(res);
    });
    to.on('error', () => res.destroy());
    to.end(body);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => server.close() && server.closeAllConnections?.());
  return `http://127.0.0.1:${server.address().port}`;
}

test('doctor finds nothing wrong with what works, and names each usual fault', BOUND, async (t) => {
  const { aside } = await started(t);
  const own = `http://127.0.0.1:${aside.port}${aside.prefix}`;
  const socket = path.join(aside.dir, 'responder-1.sock');
  const doctor = async (args = [], more = {}) => {
    const r = await asJson({ ...aside.env, ...more }, 'doctor', ...args);
    return { code: r.code, of: Object.fromEntries(r.findings.map((f) => [f.what, f])) };
  };
  const fault = async (what, text, args, more) => {
    const r = await doctor(args, more);
    assert.deepEqual([r.code, r.of[what]?.verdict], [1, 'fault'], JSON.stringify(r.of));
    assert.match(r.of[what].text, text);
  };

  const well = await doctor(['-u', own, '-s', socket, '-w', '1']);
  assert.deepEqual([well.code, ...new Set(Object.values(well.of).map((f) => f.verdict))], [0, 'ok'],
    JSON.stringify(well.of));
  assert.deepEqual(Object.keys(well.of), ['SQLite', 'data', 'inotify', 'descriptors', 'runtime', 'socket',
    'model', 'web server', 'large bodies', 'held polls']);
  const bare = await doctor();
  assert.deepEqual([bare.code, bare.of['web server'].verdict], [0, 'not tried']);

  await fault('model', /is not reached/, [], { ASIDE_MODEL_URL: 'http://127.0.0.1:9/v1' });
  const locked = await front(t, aside.port, (req, res) => res.writeHead(401).end());
  await fault('model', /does not take model\.key/, [], { ASIDE_MODEL_URL: `${locked}/v1`, ASIDE_MODEL_KEY: 'a-secret' });
  const few = await promisify(execFile)('prlimit', ['--nofile=1024:1024', bin('aside'), 'doctor'],
    { env: aside.env }).catch((e) => e);
  assert.deepEqual([few.code, /FAULT +descriptors: .*raise LimitNOFILE/.test(few.stdout)], [1, true], few.stdout);
  await fault('socket', /is aside\.fcgi running/, ['-s', path.join(aside.dir, 'none.sock')]);
  await fault('web server', /cannot be reached/, ['-u', 'http://127.0.0.1:9']);
  await fault('web server', /knows no such path/, ['-u', `${own}/elsewhere`]);

  const other = await front(t, aside.port, (req, res) => res.end('<!doctype html>a shop'));
  await fault('web server', /another program at this address/, ['-u', other]);
  const small = await front(t, aside.port, (req, res) => req.method === 'POST' && res.writeHead(413).end());
  await fault('large bodies', /client_max_body_size 256k/, ['-u', small]);
  const hasty = await front(t, aside.port, (req, res) => req.url.includes('wait=') && res.writeHead(504).end());
  await fault('held polls', /fastcgi_read_timeout/, ['-u', hasty, '-w', '1']);
  const rude = await front(t, aside.port, (req, res) => req.url.includes('wait=') && res.destroy());
  await fault('held polls', /time-out below 75 s/, ['-u', rude, '-w', '1']);
  const login = await front(t, aside.port, (req, res) => req.url.includes('wait=') && res.writeHead(401).end());
  assert.equal((await doctor(['-u', login, '-w', '1'])).of['held polls'].verdict, 'not tried');

  await aside.kill('asided');
  await fault('runtime', /messages are kept but not answered/, []);
  await aside.kill('responder-1');
  await aside.kill('responder-2');
  await fault('web server', /does not reach the responder/, ['-u', own]);
});

test('the manual page has every verb, used as the program says, and every exit status', BOUND, async () => {
  const manual = await readFile(new URL('../../docs/aside.1', import.meta.url), 'utf8');
  const said = (await run(process.env, 'help')).stdout;
  const verbs = [...said.matchAll(/^ {2}aside (\w+) (.*)$/gm)];
  assert.ok(verbs.length >= 8, said);
  for (const [, verb, usage] of verbs) {
    assert.ok(manual.includes(`.B aside ${verb}\n`), verb);
    for (const [, option] of usage.matchAll(/\[(--?\w+)/g)) {
      const [, text] = manual.split(`.B aside ${verb}\n`);
      assert.ok(text.split('.TP')[0].includes(option.replaceAll('-', '\\-')), `${verb} ${option}`);
    }
  }
});
