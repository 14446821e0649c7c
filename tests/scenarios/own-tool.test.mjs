// own-tool.test.mjs - docs/tools.md is followed to the letter: its tool is added
// to a copy of the sources, built, called by a model, and cited.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { cp, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';

import { ROOT, temporaryDir } from '../support/harness.mjs';
import { started } from '../support/started.mjs';
import { BOUND } from '../support/patience.mjs';

const SOURCES = ['Makefile', 'runtime', 'sql', 'fcgi', 'nginx', 'build/gen', 'build/san'];
/** What the page's pieces stand before, in files that are there. */
const BEFORE = {
  'runtime/runtime.h': 'void tool_library_search(struct tool_work *);',
  'runtime/tool/tool.c': '    {.name = "note",',
};

/** The pieces of code of the page: {file, text}. */
async function pieces() {
  const page = await readFile(path.join(ROOT, 'docs/tools.md'), 'utf8');
  return [...page.matchAll(/^```c (\S+)\n(.*?)^```$/gms)]
    .map(([, file, text]) => ({ file, text }));
}

async function addTo(dir, { file, text }) {
  const at = path.join(dir, file);
  const before = BEFORE[file];
  if (before === undefined) {
    await writeFile(at, text, { flag: 'wx' });
    return;
  }
  const old = await readFile(at, 'utf8');
  assert.equal(old.split(before).length, 2, `${file}: ${before}`);
  await writeFile(at, old.replace(before, () => text + before));
}

/** A runtime with the page's tool. What has not changed is not built again. */
async function build(t) {
  const dir = await temporaryDir();
  t.after(() => rm(dir, { recursive: true, force: true }));
  await mkdir(path.join(dir, 'build'));
  for (const name of SOURCES) {
    await cp(path.join(ROOT, name), path.join(dir, name),
      { recursive: true, preserveTimestamps: true });
  }
  const found = await pieces();
  assert.deepEqual(found.map((p) => p.file),
    ['runtime/tool/tool_clock.c', ...Object.keys(BEFORE)]);
  for (const piece of found) {
    await addTo(dir, piece);
  }
  await promisify(execFile)('make',
    ['-j2', 'SAN=address,undefined', 'CFLAGS=-O0', 'build/san/asided'], { cwd: dir });
  return path.join(dir, 'build/san/asided');
}

test('a tool that is added as docs/tools.md says is offered, called and cited', BOUND, async (t) => {
  const asided = await build(t);
  const { model, research, whole } = await started(t, {}, { programs: { asided } });
  model.next('research', (req, reply) => reply.call(
    ['clock', { offset_minutes: 60 }], ['clock', { offset_minutes: 'noon' }]));
  model.next('research', (req, reply) => reply.report('It is late. [1]'));
  const end = await whole((await research('What time is it?')).id);

  const [first, second] = model.requests.filter((r) => r.purpose === 'research');
  const offered = first.body.tools.map((tool) => tool.function).find((f) => f.name === 'clock');
  assert.match(offered.description, /^Tell the date/);
  assert.equal(offered.parameters.properties.offset_minutes.type, 'integer');
  const [told, refused] = second.body.messages.filter((m) => m.role === 'tool')
    .map((m) => JSON.parse(m.content));
  assert.match(told.passages[0].text, /^It is \w+day, \d\d \w+ \d{4}, \d\d:\d\d\.$/);
  assert.match(refused.error, /from -840 to 840/);

  assert.equal(end.run.state, 'completed');
  assert.deepEqual(end.sources.map((s) => [s.n, s.location]), [[1, 'clock:utc']]);
  assert.deepEqual(end.tool_calls.filter((c) => c.name === 'clock').map((c) => [c.state, c.summary]),
    [['done', 'looked at the clock'], ['failed', 'offset_minutes: expected a number from -840 to 840']]);
});
