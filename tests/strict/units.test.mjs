// units.test.mjs - the units of systemd/ under a systemd, with all that they forbid:
// make units installs what this starts, as an operator does. It needs root.

import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';

import { eventually, freePort, ROOT, temporaryDir } from '../support/harness.mjs';
import { BOUND } from '../support/patience.mjs';
import { pdf } from '../support/pdf.mjs';

const run = promisify(execFile);
const STAGE = path.join(ROOT, 'var/units');

/** What an operator writes: the configuration, and a web server with the snippet's two parts. */
async function configure(port) {
  const snippet = await readFile(path.join(ROOT, 'nginx/snippet.conf'), 'utf8');
  const [http, server] = snippet.split('# --- in the server block');
  const etc = path.join(STAGE, 'etc');
  await mkdir(path.join(etc, 'aside'), { recursive: true });
  await mkdir(path.join(etc, 'systemd/system'), { recursive: true });
  await writeFile(path.join(etc, 'aside/aside.conf'),
    `data = /var/lib/aside\nprefix = /aside\nmodel.url = http://127.0.0.1:${port}/none/v1\n`);
  await writeFile(path.join(etc, 'aside/nginx.conf'), `user www-data;\nerror_log stderr;\npid /run/nginx.pid;\nevents {}
http {\ninclude /etc/nginx/mime.types;\naccess_log off;\n${http}
server { listen 127.0.0.1:${port};\n#${server} }\n}\n`);
  const unit = (name, text) => writeFile(path.join(etc, 'systemd/system', name), text);
  for (const name of ['aside-responder.service', 'aside-runtime.service']) {
    await unit(name, await readFile(path.join(ROOT, 'systemd', name), 'utf8'));
  }
  await unit('web.service', '[Service]\nType=exec\nExecStart=/usr/sbin/nginx -c /etc/aside/nginx.conf -g "daemon off;"\n');
  await unit('aside-units.target', '[Unit]\nWants=aside-responder.service aside-runtime.service web.service\n');
}

/** A command inside, where systemd is process 1. */
async function inside(t, dir) {
  await mkdir(path.join(dir, 'space'));
  const outer = spawn('sh', [path.join(ROOT, 'tests/strict/units.sh'), STAGE, dir], { stdio: ['ignore', 'pipe', 'pipe'] });
  let said = '';
  outer.stderr.on('data', (piece) => { said += piece; });
  let pid = 0;
  t.after(async () => {
    process.kill(pid || outer.pid, 'SIGKILL'); // and with it all that is inside
    if (outer.exitCode === null) {
      await once(outer, 'exit');
    }
    await rm(dir, { recursive: true, force: true });
  });
  const child = async (of) => Number((await readFile(`/proc/${of}/task/${of}/children`, 'utf8')).split(' ')[0]);
  pid = await eventually(async () => {
    let at = outer.pid;
    while (at && (await readFile(`/proc/${at}/comm`, 'utf8')) !== 'systemd\n') {
      at = await child(at);
    }
    return at;
  }, { what: 'a systemd runs' }).catch((error) => {
    throw new Error(`${error.message}\n${said}`);
  });
  return (...words) => run('nsenter', ['-t', String(pid), '-a', ...words])
    .then((r) => ({ code: 0, ...r }), (e) => ({ code: e.code, stdout: e.stdout, stderr: e.stderr }));
}

test('the units start what they are for, forbid the rest, and start it again', BOUND, async (t) => {
  const port = await freePort();
  await configure(port);
  const command = await inside(t, await temporaryDir());
  const log = async () => (await command('journalctl', '--no-pager', '-n', '60')).stdout;
  const becomes = (what, step) => eventually(step, { what }).catch(async (error) => {
    throw new Error(`${error.message}\n${await log()}`);
  });
  const state = async (unit, property = 'ActiveState') =>
    (await command('systemctl', 'show', '-P', property, unit)).stdout.trim();
  const url = `http://127.0.0.1:${port}/aside`;
  const api = async (method, where, body) => {
    const r = await fetch(`${url}/api/v1${where}`, { method, body,
      headers: { 'Idempotency-Key': where, ...body ? { 'Content-Type': 'application/pdf' } : {} } });
    return { status: r.status, json: await r.json() };
  };
  const healthy = () => becomes('health is ok', async () => (await api('GET', '/health')).json.runtime === 'ok');

  await healthy();
  const units = ['aside-responder', 'aside-runtime'];
  for (const unit of units) {
    const status = (await command('cat', `/proc/${await state(unit, 'MainPID')}/status`)).stdout;
    assert.match(status, /NoNewPrivs:\s1\n/);
    assert.match(status, /Seccomp:\s2\n/);
    assert.match(status, /CapBnd:\s0+\n/);
    assert.match(status, /Uid:(\s990){4}\n/);
  }
  // The strictest of what they do: readers of strangers' documents, with pdftotext.
  assert.equal((await api('PUT', '/library/files/a.pdf', pdf([['Tides follow', 'the moon']]))).status, 201);
  await becomes('a PDF is read', async () => (await api('GET', '/library')).json.documents[0]?.state === 'indexed');
  const told = await command('aside', 'doctor', '-c', '/etc/aside/aside.conf', '-u', url, '-s', '/run/aside/responder.sock');
  assert.deepEqual(told.stdout.match(/^FAULT +\S+/gm), ['FAULT     model:'], told.stdout);
  // What is killed is started again; who restarts does not take the socket's folder from the other.
  const was = await Promise.all(units.map((unit) => state(unit, 'MainPID')));
  await command('kill', '-9', ...was);
  for (const [i, unit] of units.entries()) {
    await becomes(`${unit} runs again`, async () => await state(unit) === 'active' && await state(unit, 'MainPID') !== was[i]);
  }
  await healthy();
  await command('systemctl', 'restart', 'aside-runtime');
  await healthy();
  await command('systemctl', 'stop', ...units);
  assert.deepEqual(await Promise.all(units.map((unit) => state(unit, 'Result'))), ['success', 'success']);
});
