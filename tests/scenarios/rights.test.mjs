// rights.test.mjs - least privilege: programs started as root become another
// account for good and gain nothing any more; readers of documents have no
// network; the services' units are closed as far as they can be.

import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, chown, mkdir, open, readFile, readdir, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';

import { bin, eventually, startAside, temporaryDir } from '../support/harness.mjs';
import { pdf } from '../support/pdf.mjs';
import { BOUND } from '../support/patience.mjs';

const ROOT = { ...BOUND, skip: process.getuid() !== 0 && 'only root can become another' };
const run = promisify(execFile);
const NOBODY = 65534;

/** What the system says of a process: /proc/<pid>/status as an object. */
const statusOf = async (pid) => Object.fromEntries((await readFile(`/proc/${pid}/status`, 'utf8'))
  .split('\n').map((line) => line.split(/:\s*/)));

test('without -u a program stays who it is, and gains no rights any more', BOUND, async (t) => {
  const aside = await startAside({ t });
  for (const name of ['responder-1', 'asided']) {
    assert.equal((await statusOf(aside.part(name).pid)).NoNewPrivs, '1', name);
  }
});

test('with -u root becomes that account before it opens anything', ROOT, async (t) => {
  const dir = await temporaryDir();
  t.after(() => rm(dir, { recursive: true, force: true }));
  await chmod(dir, 0o755);
  const data = path.join(dir, 'data');
  await mkdir(data, { mode: 0o700 });
  await chown(data, NOBODY, NOBODY);
  const socket = path.join(data, 'responder.sock');
  const env = { PATH: process.env.PATH, ASIDE_DATA: data, ASIDE_MODEL_URL: 'http://127.0.0.1:9/v1' };
  const parts = [spawn(bin('aside.fcgi'), ['-s', socket, '-u', 'nobody'], { env }),
    spawn(bin('asided'), ['-u', 'nobody'], { env })];
  t.after(() => parts.forEach((child) => child.kill('SIGKILL')));
  await eventually(async () => (await readdir(data)).includes('responder.sock'), { what: 'it serves' });
  let said = '';
  parts[1].stderr.on('data', (piece) => {
    said += piece;
  });
  await eventually(async () => said.includes('running on'), { what: 'it runs' });
  for (const child of parts) {
    const status = await statusOf(child.pid);
    assert.deepEqual([status.Uid, status.Gid, status.Groups.trim(), status.NoNewPrivs, status.CapEff],
      [...Array(2).fill(Array(4).fill(NOBODY).join('\t')), String(NOBODY), '1', '0000000000000000']);
  }
  const { stdout } = await run('find', [data, '-not', '-user', 'nobody']);
  assert.equal(stdout, '', 'all it made is its own');
  for (const child of parts) {
    child.kill('SIGTERM');
    assert.deepEqual(await once(child, 'exit'), [0, null]);
  }
});

test('an account that cannot be is said, and nothing starts', BOUND, async (t) => {
  const dir = await temporaryDir();
  t.after(() => rm(dir, { recursive: true, force: true }));
  const env = { PATH: process.env.PATH, ASIDE_DATA: path.join(dir, 'data') };
  for (const [program, ...args] of [['aside.fcgi', '-s', path.join(dir, 's')], ['asided']]) {
    await assert.rejects(run(bin(program), [...args, '-u', 'no-such-one'], { env }),
      /-u: there is no account no-such-one/);
  }
  assert.deepEqual(await readdir(dir), []);
});

test('who reads a document can open no connection, and reads it all the same', BOUND, async (t) => {
  const dir = await temporaryDir();
  t.after(() => rm(dir, { recursive: true, force: true }));
  // A stand-in for pdftotext that tries, and reports on what it was allowed.
  const fake = path.join(dir, 'pdftotext');
  await writeFile(fake,
    '#!/bin/bash\nfor to in tcp/127.0.0.1/9 udp/127.0.0.1/9; do\n' +
    '  if (exec 3<>/dev/$to) 2>&1 | grep -q "Permission denied"; then echo "$to is closed"; else echo "$to is open"; fi\ndone\n' +
    'grep -h NoNewPrivs /proc/self/status\n', { mode: 0o755 });
  const document = path.join(dir, 'herring.pdf');
  await writeFile(document, pdf([['Herring swim in shoals.']]));
  const read = async (PATH) => {
    const file = await open(document);
    const child = spawn(bin('aside'), ['read', 'pdf', ''],
      { env: { ...process.env, PATH }, stdio: [file.fd, 'pipe', 'inherit'] });
    let out = '';
    child.stdout.on('data', (piece) => {
      out += piece;
    });
    const [code] = await once(child, 'close');
    await file.close();
    assert.equal(code, 0);
    return out;
  };
  const tried = await read(`${dir}:${process.env.PATH}`);
  assert.match(tried, /tcp\/127\.0\.0\.1\/9 is closed/);
  assert.match(tried, /udp\/127\.0\.0\.1\/9 is closed/);
  assert.match(tried, /NoNewPrivs:\\t1/);
  assert.match(await read(process.env.PATH), /Herring swim in shoals/);
});

test('the units of systemd expose 2.0 at most', BOUND, async () => {
  const folder = new URL('../../systemd/', import.meta.url);
  const units = (await readdir(folder)).filter((name) => name.endsWith('.service'));
  assert.deepEqual(units, ['aside-responder.service', 'aside-runtime.service']);
  for (const unit of units) {
    await run('systemd-analyze', ['security', '--offline=true', '--threshold=20', '--no-pager',
      new URL(unit, folder).pathname]);
  }
});
