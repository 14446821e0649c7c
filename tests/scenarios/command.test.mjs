// command.test.mjs - the command line beside a running Aside: status, runs, watch,
// config check and doctor, for a person and as JSON.

import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, chown, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import http from 'node:http';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { test } from 'node:test';
import { promisify } from 'node:util';

import { bin, eventually, temporaryDir } from '../support/harness.mjs';
import { bodyOf } from '../support/http.mjs';
import { ScriptedMcp } from '../support/scripted-mcp.mjs';
import { started } from '../support/started.mjs';
import { BOUND } from '../support/patience.mjs';
import { pretty } from '../../static/js/pretty.js';

const run = (env, ...args) => promisify(execFile)(bin('aside'), args, { env })
  .then((r) => ({ code: 0, ...r }), (e) => ({ code: e.code, stdout: e.stdout, stderr: e.stderr }));
const asJson = async (env, ...args) => {
  const r = await run(env, ...args, '--json');
  assert.match(r.stdout, /^\{.*\}\n$/, r.stderr);
  return { code: r.code, ...JSON.parse(r.stdout) };
};

/** The same in a shell, for its redirections: "$aside" is the program. */
const shell = (env, line, ...args) => promisify(execFile)('sh', ['-c', line, 'sh', ...args],
  { env: { ...env, aside: bin('aside') } })
  .then((r) => ({ code: 0, ...r }), (e) => ({ code: e.code, signal: e.signal, stdout: e.stdout, stderr: e.stderr }));

async function fifo(dir) {
  const name = path.join(dir, 'fifo');
  await rm(name, { force: true });
  await promisify(execFile)('mkfifo', [name]);
  return name;
}

/** What nobody sees, by the page's rule; tabs and line ends are the command's own. */
const isWild = (text) => pretty(`.${text.replaceAll('\t', ' ')}`) !== `.${text.replaceAll('\t', ' ')}` || text.includes('\ufffd');

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
  for (const verb of ['status', 'runs', 'watch', 'audit', 'approve', 'backup']) {
    const r = await run(env, verb, ...(verb === 'approve' || verb === 'backup' ? ['appr_1'] : []));
    assert.equal(r.code, 1, verb);
    assert.match(r.stderr, /there is no database; start Aside once, or name its configuration with -c/);
  }
  // Who looks for faults goes on.
  const ill = await asJson(env, 'doctor');
  assert.deepEqual([ill.code, ...ill.findings.filter((f) => f.verdict === 'fault').map((f) => f.what)],
    [1, 'data', 'database', 'runtime', 'model']);
  for (const words of [['runz'], ['help', 'runz'], ['-c']]) {
    const r = await run(env, ...words);
    assert.deepEqual([r.code, r.stderr], [2, `aside: ${words.at(-1)}: there is no such verb; see aside help\n`]);
  }
  await assert.rejects(promisify(execFile)('ls', [path.join(dir, 'nowhere')]));
  for (const wrong of [['status', 'x'], ['status', '-n', '3'], ['runs', '-n', '0'], ['runs', '-n', 'x'],
    ['watch', 'a', 'b'], ['audit', '--what'], ['doctor', '-w', '56'], ['config'], ['config', 'change'],
    ['index', 'x'], ['approve'], ['deny', 'appr_1', 'a', 'b']]) {
    const r = await run(env, ...wrong);
    assert.equal(r.code, 2, wrong.join(' '));
    assert.match(r.stderr, new RegExp(`usage: aside ${wrong[0]} `));
  }
});

test('runs lists what an account has, by state', BOUND, async (t) => {
  const { aside, model, send, research, ended, stop } = await started(t);
  // Before its first write the only account is empty, and no error.
  const fresh = { ...aside.env, ASIDE_DATA: path.join(aside.dir, 'fresh') };
  assert.equal((await run(fresh, 'account', 'add', 'other')).code, 0);
  assert.deepEqual(await asJson(fresh, 'runs'), { code: 0, runs: [] });
  const waiting = spawn(bin('aside'), ['watch', '--json'], { env: fresh });
  t.after(() => waiting.kill());
  const firstLine = once(createInterface({ input: waiting.stdout }), 'line');
  await eventually(async () => (await readFile(`/proc/${waiting.pid}/wchan`, 'utf8')).includes('poll'));
  const page = path.join(aside.dir, 'first.md');
  await writeFile(page, '# First\n');
  assert.equal((await run(fresh, 'library', 'add', page)).code, 0);
  assert.equal(JSON.parse((await firstLine)[0]).kind, 'library.updated');
  waiting.kill();
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
  const { aside, model, research, stop, conv, sql } = await started(t);
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

  // Nobody reads any more, the Run is deleted, the database goes: each ends it.
  model.next('research', async (req, reply) => {
    reply.text('I look ');
    await reply.hold('looking');
  });
  const { id } = await research('How do tides work?');
  await model.held('looking');
  const left = await shell(aside.env, '{ "$aside" watch "$1"; echo "ended $?" >&2; } | head -1', id);
  assert.deepEqual([left.stdout.split('\n').length, left.stderr], [2, 'ended 1\n']);
  const until = async (words, cause, why) => {
    const child = spawn(bin('aside'), ['watch', ...words], { env: aside.env });
    const said = [];
    child.stderr.on('data', (piece) => said.push(piece));
    const over = once(child, 'exit');
    if (words.length > 0) {
      await once(child.stdout, 'data');
    }
    await cause();
    assert.deepEqual((await over)[0], 1);
    assert.match(Buffer.concat(said).toString(), why);
  };
  await until([id], async () => {
    await stop(id);
    await aside.api('DELETE', `/conversations/${conv}`);
  }, /^(aside: run_\d+: the Run was deleted\n)?$/); // it may look after the one or after both
  await aside.kill('asided');
  const other = (await aside.api('POST', '/conversations', {})).json.conversation.id;
  const { run: late } = (await aside.api('POST', `/conversations/${other}/messages`, { body: 'Hello' })).json;
  await until([late.id], () => sql(`PRAGMA foreign_keys=ON; DELETE FROM conversation WHERE id = ${other.slice(5)}`),
    /the Run was deleted/);
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

/** How each verb is called with --json, by its name; a fresh account is `me`. What is left out prints JSON anyway, or runs everything. */
const AS_JSON = {
  account: ['list'], approve: ['appr_1'], audit: [], backup: ['copy'], check: [], config: ['check'], deny: ['appr_1'],
  doctor: [], index: [], library: ['list'], restore: ['copy'], runs: [], status: [], token: ['list', '-a', 'me'],
  watch: ['run_1'],
};
const NO_JSON = ['read', 'run'];
/** These cannot be done here, and say so. */
const REFUSED = { approve: /no such approval/, deny: /no such approval/, restore: /not restored/ };

test('every verb takes --json, prints one object, and fails when it cannot be printed', BOUND, async (t) => {
  const { aside, send, ended } = await started(t);
  await ended((await send('Hello')).run.id);
  const page = path.join(aside.dir, 'page.md');
  await writeFile(page, '# A page\n');
  assert.equal((await asJson(aside.env, 'library', 'add', page)).files[0].name, 'page.md');
  assert.equal((await asJson(aside.env, 'token', 'add', '-a', 'me', 'laptop')).token.name, 'laptop');
  const { stdout } = await run(aside.env, 'help');
  const verbs = [...stdout.matchAll(/^ {2}aside (\w+) (.*)$/gm)];
  assert.deepEqual(verbs.map((v) => v[1]).sort(), [...Object.keys(AS_JSON), ...NO_JSON].sort());
  for (const [, verb, usage] of verbs.filter((v) => !NO_JSON.includes(v[1]))) {
    assert.match(usage, /\[--json\]/, verb);
    const args = AS_JSON[verb].map((x) => (x === 'copy' ? path.join(aside.dir, `${verb}.db`) : x));
    const done = await run(aside.env, verb, ...args, '--json');
    if (REFUSED[verb]) {
      assert.deepEqual([done.code, done.stdout], [1, ''], verb);
      assert.match(done.stderr, REFUSED[verb]);
      continue;
    }
    assert.equal(done.code, 0, `${verb}: ${done.stderr}`);
    assert.equal(done.stdout.trim().split('\n').length, 1, done.stdout);
    assert.equal(typeof JSON.parse(done.stdout), 'object', verb);
    for (const [json, to] of [[[], '>/dev/full'], [['--json'], '>&-']]) {
      const force = verb === 'backup' ? ['--force'] : [];
      const lost = await shell(aside.env, `"$aside" "$@" ${to}`, verb, ...args, ...json, ...force);
      assert.deepEqual([lost.code, lost.stdout], [1, ''], `${verb} ${json} ${to} ${lost.stderr}`);
      assert.match(lost.stderr, /^aside: /, `${verb} ${json} ${to}`);
    }
  }
  // What was closed did not become the file that was opened next.
  assert.equal((await run(aside.env, 'check')).code, 0);
  assert.equal((await readFile(path.join(aside.dir, 'backup.db'), 'latin1')).slice(0, 15), 'SQLite format 3');
  assert.match((await shell(aside.env, '"$aside" token add -a me lost >/dev/full')).stderr,
    /aside: tok_\d+: its secret could not be shown and is lost; revoke it/);
  // A reader that has left ends it without noise, and not by a signal.
  for (const more of ['', ' --json']) {
    const left = await shell(aside.env, `{ read go; "$aside" runs${more}; echo $? >&2; } < "$1" | (exec <&-; echo > "$1")`,
      await fifo(aside.dir));
    assert.equal(left.stderr, '1\n');
  }
  assert.match((await run(aside.env, 'runs', '--help')).stdout, /^usage: aside runs \[-c file\]/);
  assert.match((await run(aside.env, 'help', 'runs')).stdout, /^usage: aside runs /);
  assert.match((await run(aside.env, '--version')).stdout, /^aside \d+\.\d+\.\d+\n$/);
});

test('no text of others reaches the terminal as it is, and none breaks the JSON', BOUND, async (t) => {
  const { aside, research, send, ended, sql } = await started(t);
  const wild = '\u001b]0;own\u0007\u001b[2J\u009b31m\u202eback\u2066\u2028next\u007f\u200b\u00ad\ufe0f\u3164\u{e0041}\u2800';
  await ended((await send('Hello')).run.id);
  const { id } = await research('How do tides work?');
  await ended(id);
  const n = Number(id.slice(4));
  const quoted = `CAST(x'${Buffer.from(`${wild}\tcolumn\nline`).toString('hex')}' AS TEXT)`;
  await sql(`UPDATE run SET title = ${quoted}, progress = ${quoted} WHERE id = ${n};
    INSERT INTO server (kind, name, state, detail, tools, changed_ms) VALUES ('mcp', 'x', 'unreachable', ${quoted}, 0, 1)`);
  const names = wild.replaceAll(/[\u0000-\u001f\u007f]/g, ''); // eslint-disable-line no-control-regex
  assert.equal((await run(aside.env, 'account', 'add', names)).code, 0);
  assert.equal((await run(aside.env, 'token', 'add', '-a', names, names)).code, 0);
  const wildFile = path.join(aside.dir, `a${names.replaceAll('/', '')}.md`);
  await writeFile(wildFile, '# Wild\n\nA page.\n');
  const shown = async (...args) => {
    const r = await run(aside.env, ...args);
    assert.ok(!isWild(r.stdout + r.stderr), `${args.join(' ')}: ${JSON.stringify(r.stdout + r.stderr)}`);
    return r;
  };
  const lines = (await shown('runs')).stdout.trim().split('\n');
  assert.deepEqual(lines.map((line) => line.split('\t').length), [7, 7]);
  await shown('watch', id);
  await shown('status');
  await shown('account', 'list');
  await shown('account', 'add', names);
  await shown('account', 'add', wild);
  await shown('token', 'list', '-a', names);
  await shown('audit');
  await shown('library', 'add', wildFile);
  await shown('library', 'list');
  await shown('library', 'remove', wild);
  await shown('runs', wild);
  await shown('runs', '-a', wild);
  await shown('watch', wild);
  await shown('config', 'check', '-c', wild);
  await shown('restore', wild);
  await shown('backup', `${aside.dir}/${wild}`);
  await writeFile(path.join(aside.dir, 'wild.conf'), `${wild} = x\n`);
  await shown('config', 'check', '-c', path.join(aside.dir, 'wild.conf'));

  const all = await asJson(aside.env, 'runs');
  assert.equal(all.runs[0].title, `${wild}\tcolumn\nline`, 'as it is');
  assert.equal((await asJson(aside.env, 'account', 'list')).accounts.at(-1).name, names);
  const gone = await asJson(aside.env, 'library', 'remove', wild);
  assert.deepEqual([gone.code, gone.ok, gone.refused[0].name], [1, false, wild]);
  // Names of the file system need not be UTF-8.
  const odd = await shell(aside.env, 'f="$(printf "$1/\\377.db")"; "$aside" backup --json "$f"', aside.dir);
  assert.equal(odd.code, 0, odd.stderr);
  assert.match(JSON.parse(odd.stdout).file, /\ufffd\.db$/);
  const added = await shell(aside.env, 'f="$(printf "$1/b\\377.md")"; echo x > "$f"; "$aside" library add --json "$f"', aside.dir);
  assert.equal(typeof JSON.parse(added.stdout), 'object');
  assert.match((await shell(aside.env, '"$aside" runs "$(printf "\\377\\233")"')).stderr, /^aside: \\xff\\x9b: expected/);

  // Each code point, as the page shows it. (Of what one of the two does not know yet, some thousands at most.)
  const units = (c) => Array.from({ length: c.length }, (_, i) => `\\u${c.charCodeAt(i).toString(16).padStart(4, '0')}`).join('');
  // Of the planes where no character is, but the one of tags, some.
  const every = Array.from({ length: 0x110000 }, (_, i) => i)
    .filter((i) => i > 0 && (i < 0xd800 || i > 0xdfff) && (i < 0x34000 || (i >= 0xe0000 && i < 0xe1000) || i % 251 === 0))
    .map((i) => String.fromCodePoint(i)).filter((c) => !'\t\n\r'.includes(c));
  const file = path.join(aside.dir, 'every');
  await writeFile(file, every.join(''));
  await sql(`UPDATE run SET title = CAST(readfile('${file}') AS TEXT) WHERE id = ${n}`);
  assert.equal((await shell(aside.env, '"$aside" runs > "$1"', file)).code, 0);
  const line = (await readFile(file, 'utf8')).split('\n')[0];
  const byPage = pretty(every.map((c) => `.${c}`).join('\n')).split('\n').map((shown, i) => shown !== `.${every[i]}`);
  let unknown = 0;
  let at = line.split('\t', 6).join('\t').length + 1;
  for (const [i, c] of every.entries()) {
    const coded = line.startsWith(units(c), at);
    if (coded !== byPage[i]) {
      assert.ok(coded || /\p{Cn}/u.test(c), `U+${c.codePointAt(0).toString(16)} is not seen`);
      unknown++;
    }
    at += coded ? units(c).length : c.length;
  }
  assert.deepEqual([at, unknown < 15000], [line.length, true]);
  for (const c of [...'a~é中한かЖשع—😀अ']) {
    assert.ok(line.includes(c), c);
  }
  assert.equal((await shell(aside.env, '"$aside" runs --json > "$1"', file)).code, 0);
  const json = await readFile(file, 'utf8');
  assert.equal(JSON.parse(json).runs[0].title, every.join(''));
  const printed = new Set(json);
  assert.ok(!every.some((c, i) => byPage[i] && printed.has(c) && !/\p{Cn}/u.test(c)));
});

test('a call that waits is shown exactly, and decided on as in the page', BOUND, async (t) => {
  const mcp = await ScriptedMcp.start({ t });
  mcp.tool('write', {}, (call) => call.text('written'));
  const { aside, model, research, whole } = await started(t, { 'mcp.a.url': mcp.url });
  await aside.part('asided').logged(/mcp\.a ready/);
  const exact = '{"text": "a \\u003cb\\u003e",  "n":1e2}';
  model.next('research', (req, reply) => reply.call(['a__write', exact]));
  model.next('research', (req, reply) => reply.call(['a__write', '{"n":2}']));
  const hidden = '{"n":3,\n"t":"a\u200b\u{e0041}\u00ad\u3164\ufe0f\u202eb"}';
  model.next('research', (req, reply) => reply.call(['a__write', hidden]));
  model.next('research', (req, reply) => reply.call(['a__write', '{"n":4}']));
  model.next('research', (req, reply) => reply.report('Done.'));
  const { id } = await research('write it down');
  const waits = (what) => aside.until((s) => {
    const r = s.runs.get(id);
    return r?.approval && r.approval.arguments === what ? r.approval : null;
  }, { what: `it asks for ${what}` });
  const first = await waits(exact);

  const listed = (await asJson(aside.env, 'runs', 'active')).runs[0];
  assert.deepEqual([listed.state, listed.question, listed.approval.id, listed.approval.tool, listed.approval.arguments],
    ['awaiting_input', null, first.id, 'a__write', exact]);
  assert.ok((await run(aside.env, 'runs')).stdout.includes(`\n    waits for ${first.id}: a__write ${exact}\n`));
  assert.equal((await asJson(aside.env, 'status')).awaiting, 1);
  const watching = spawn(bin('aside'), ['watch', id], { env: aside.env });
  t.after(() => watching.kill());
  const [line] = await once(createInterface({ input: watching.stdout }), 'line');
  assert.match(line, new RegExp(`\tawaiting_input\twaits for ${first.id}: a__write `));
  watching.kill();

  const refused = async (args, why) => {
    const r = await run(aside.env, ...args);
    assert.deepEqual([r.code, r.stdout], [1, ''], args.join(' '));
    assert.match(r.stderr, why);
  };
  await refused(['approve', 'run_1'], /an approval's id is like appr_7/);
  await refused(['approve', 'appr_99'], /no such approval of this account/);
  await refused(['deny', first.id, ''], /a note has 1 to 4000 bytes/);
  await refused(['deny', first.id, ' \u200b'], /a note has 1 to 4000 bytes/);
  await refused(['deny', first.id, 'x'.repeat(4001)], /a note has 1 to 4000 bytes/);
  assert.equal((await run(aside.env, 'account', 'add', 'other')).code, 0);
  await refused(['approve', '-a', 'other', first.id], /no such approval of this account/);
  assert.equal((await run(aside.env, 'approve')).code, 2);
  assert.equal((await run(aside.env, 'deny', '--run', first.id)).code, 2);
  assert.equal((await waits(exact)).state, 'open');

  const once1 = await asJson(aside.env, 'approve', first.id);
  assert.deepEqual([once1.code, once1.approval.state, once1.run_state, once1.replayed],
    [0, 'approved_once', 'running', false]);
  const again = await asJson(aside.env, 'approve', first.id);
  assert.deepEqual([again.code, again.approval.state, again.replayed], [0, 'approved_once', true]);
  await refused(['deny', first.id], /it was decided otherwise/);
  const second = await waits('{"n":2}');
  assert.match((await run(aside.env, 'deny', second.id, 'Better wait.')).stdout,
    new RegExp(`^${second.id}\tdenied\t${id}\trunning\n$`));
  const third = await waits(hidden);
  assert.ok((await run(aside.env, 'runs')).stdout.includes(`\n    waits for ${third.id}: a__write ` +
    '{"n":3,\\u000a"t":"a\\u200b\\udb40\\udc41\\u00ad\\u3164\\ufe0f\\u202eb"}\n'));
  assert.equal((await asJson(aside.env, 'runs')).runs[0].approval.arguments, hidden);
  assert.equal((await asJson(aside.env, 'approve', '--run', third.id)).approval.state, 'approved_run');
  const end = await whole(id);
  assert.equal(end.run.state, 'completed');
  assert.ok(model.requests.some((r) => JSON.stringify(r.body.messages).includes('Better wait.')), 'the model is told');
  assert.deepEqual(mcp.calls.map((c) => c.args.n), [100, 3, 4]);
  assert.equal(end.tool_calls.find((c) => c.approval?.state === 'denied').approval.note, 'Better wait.');
  const log = (await asJson(aside.env, 'audit')).audit.filter((a) => a.action === 'approval.decide');
  assert.deepEqual(log.map((a) => [a.actor, a.subject, a.outcome]), [
    ['command', third.id, 'approved_run'], ['command', second.id, 'denied'], ['command', first.id, 'approved_once']]);
});

test('a database of another version or out of reach is told, and never changed', BOUND, async (t) => {
  const dir = await temporaryDir();
  t.after(() => rm(dir, { recursive: true, force: true }));
  const env = { ...process.env, ASIDE_DATA: path.join(dir, 'data') };
  assert.equal((await run(env, 'account', 'add', 'me')).code, 0);
  const db = path.join(dir, 'data', 'aside.db');
  const sql = async (text) => (await promisify(execFile)('sqlite3', [db, text])).stdout.trim();
  const version = Number(await sql('PRAGMA user_version'));
  const page = path.join(dir, 'page.md');
  await writeFile(page, '# A page\n');
  const verbs = [['status'], ['runs'], ['watch'], ['audit'], ['approve', 'appr_1'], ['account', 'list'],
    ['account', 'add', 'new'], ['account', 'delete', 'me'], ['token', 'list', '-a', 'me'],
    ['token', 'add', '-a', 'me', 'x'], ['backup', path.join(dir, 'copy.db')], ['library', 'add', page],
    ['library', 'remove', 'x'], ['index'], ['check'], ['doctor']];
  for (const [at, why, tried] of [[version + 1, /newer/, verbs.slice(-6)], [version - 1, /older/, verbs]]) {
    await sql(`PRAGMA user_version = ${at}`);
    for (const words of tried) {
      const r = await run(env, ...words);
      assert.equal(r.code, 1, words.join(' '));
      assert.match(r.stdout + r.stderr, why, `${words.join(' ')}\n${r.stdout}${r.stderr}`);
    }
    assert.equal(Number(await sql('PRAGMA user_version')), at);
  }
  await sql(`PRAGMA user_version = ${version}`);
  assert.equal((await run(env, 'account', 'list')).stdout.split('\n').length, 2);
  if (process.getuid() === 0) {
    await chmod(path.join(dir, 'data'), 0o700);
    await chmod(dir, 0o711);
    const other = await shell(env, 'exec setpriv --reuid 65534 --regid 65534 --clear-groups "$aside" status')
      .catch((e) => e);
    assert.equal(other.code, 1);
    assert.match(other.stderr, /this account may not read and write the database/);
  }
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

  const well = await doctor(['-u', `${own}/`, '-s', socket, '-w', '1']);
  assert.deepEqual([well.code, ...new Set(Object.values(well.of).map((f) => f.verdict))], [0, 'ok'],
    JSON.stringify(well.of));
  assert.deepEqual(Object.keys(well.of), ['SQLite', 'data', 'database', 'inotify', 'descriptors', 'runtime', 'socket',
    'model', 'web server', 'large bodies', 'held polls']);
  assert.match(well.of.database.text, /it was made at 20/);
  const anew = path.join(aside.dir, 'anew');
  await mkdir(path.join(anew, 'library', 'me'), { recursive: true, mode: 0o700 });
  await asJson({ ...aside.env, ASIDE_DATA: anew }, 'account', 'add', 'me');
  await promisify(execFile)('sqlite3', [path.join(anew, 'aside.db'), 'DELETE FROM account']);
  await fault('database', /was made anew at .* holds files: put aside\.db back/, [], { ASIDE_DATA: anew });
  const bare = await doctor();
  assert.deepEqual([bare.code, bare.of['web server'].verdict], [0, 'not tried']);

  await fault('model', /is not reached/, [], { ASIDE_MODEL_URL: 'http://127.0.0.1:9/v1' });
  const locked = await front(t, aside.port, (req, res) => res.writeHead(401).end());
  await fault('model', /does not take model\.key/, [], { ASIDE_MODEL_URL: `${locked}/v1`, ASIDE_MODEL_KEY: 'a-secret' });
  // An endpoint need not list its models; each way to be wrong is told apart.
  const odd = await front(t, aside.port, (req, res) => {
    const status = Number(req.headers.authorization.split(' ')[1]);
    return req.url.endsWith('/models') ? res.writeHead(status === 400 ? 404 : status).end()
      : res.writeHead(status).end();
  });
  const says = (status) => [{}, { ASIDE_MODEL_URL: `${odd}/v1`, ASIDE_MODEL_KEY: String(status) }];
  assert.equal((await doctor([], says(400)[1])).of.model.verdict, 'ok');
  for (const [status, text] of [[404, /has no chat\/completions/], [403, /model\.key/], [429, /no quota/],
    [301, /not followed/], [503, /fails by itself.*503/]]) {
    await fault('model', text, [], says(status)[1]);
  }
  // The offline model is where the web server is, which the runtime knows else.
  const offline = { ASIDE_MODEL_URL: 'http://127.0.0.1:8080/offline/v1' };
  const beside = await front(t, aside.port, (req, res) => req.url === '/offline/v1/models' && res.end('{}'));
  assert.equal((await doctor(['-u', `${beside}/`], offline)).of.model.text, 'answers');
  assert.equal((await doctor([], offline)).of.model.text, 'answers the runtime');
  const few = await promisify(execFile)('prlimit', ['--nofile=1024:1024', bin('aside'), 'doctor'],
    { env: aside.env }).catch((e) => e);
  assert.deepEqual([few.code, /FAULT +descriptors: .*raise LimitNOFILE/.test(few.stdout)], [1, true], few.stdout);
  await aside.part('responder-2').stop();
  aside.launch('responder-2', {}, ['prlimit', '--nofile=1024:1024']);
  await aside.ready();
  await fault('descriptors', /the responder may have 1024;/, ['-s', path.join(aside.dir, 'responder-2.sock')]);
  await chmod(aside.dataDir, 0o705);
  await fault('data', /every account of this machine may look into it: chmod o-rwx/);
  await chmod(aside.dataDir, 0o700);
  if (process.getuid() === 0) {
    await chown(path.join(aside.dataDir, 'doorbell'), 65534, 65534);
    await fault('data', /doorbell belongs to another account than its folder: chown -R 0 /);
    await chown(path.join(aside.dataDir, 'doorbell'), 0, 0);
  }
  await fault('socket', /is aside\.fcgi running/, ['-s', path.join(aside.dir, 'none.sock')]);
  await fault('web server', /cannot be reached/, ['-u', 'http://127.0.0.1:9']);
  await fault('web server', /knows no such path/, ['-u', `${own}/elsewhere`]);

  const other = await front(t, aside.port, (req, res) => res.end('<!doctype html>a shop'));
  await fault('web server', /another program at this address/, ['-u', other]);
  const small = await front(t, aside.port, (req, res) => req.method === 'POST' && res.writeHead(413).end());
  await fault('large bodies', /client_max_body_size 256k/, ['-u', small]);
  const hasty = await front(t, aside.port, (req, res) => req.url.includes('wait=') && res.writeHead(504).end());
  await fault('held polls', /fastcgi_read_timeout/, ['-u', hasty, '-w', '1']);
  const cached = await front(t, aside.port, (req, res) => req.url.includes('wait=') &&
    res.end('{"changes":[],"next":1,"reset":false}'));
  await fault('held polls', /from a cache/, ['-u', cached, '-w', '2']);
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
