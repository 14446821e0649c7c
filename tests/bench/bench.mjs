// bench.mjs - measure, print, and write var/bench/bench.md and bench.json.
//
//   node tests/bench/bench.mjs [accept] [wake] [stream] [rest]
//
// A goal that is missed is a figure like any other: the exit status tells only
// whether everything could be measured.

import { readFile, mkdir, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';

import { accept } from './accept.mjs';
import { rest } from './rest.mjs';
import { OUT } from './stage.mjs';
import { stream } from './stream.mjs';
import { wake } from './wake.mjs';

const PARTS = { accept, wake, stream, rest };
const LIMIT_MS = 6 * 60 * 1000;

async function machine() {
  const info = await readFile('/proc/cpuinfo', 'utf8');
  return {
    processors: os.cpus().length, model: info.match(/^model name\s*: (.*)$/m)?.[1] ?? '',
    memory_mib: Math.round(os.totalmem() / 2 ** 20), kernel: os.release(),
    load: os.loadavg()[0],
  };
}

const VERDICT = new Map([[true, 'reached'], [false, '**missed**'], [null, '–']]);

function table(figures) {
  return [
    '| what | reach | measured | |', '| --- | --- | --- | --- |',
    ...figures.map((f) => `| ${f.what} | ${f.reach || '–'} | ${f.got} | ${VERDICT.get(f.met)} |`),
  ].join('\n');
}

function document(figures, where, seconds) {
  return [
    '# Figures', '',
    `${where.processors} × ${where.model}, ${where.memory_mib} MiB, Linux ${where.kernel}; ` +
      `load ${where.load.toFixed(1)} at the start, so other work ` +
      `${where.load > 1 ? 'shared the machine' : 'was hardly there'}. ` +
      `${seconds.toFixed(0)} s in all. What bears on them: docs/performance.md.`, '',
    table(figures), '', '## How', '',
    ...figures.map((f) => `* ${f.what}: ${f.how}`), '',
  ].join('\n');
}

async function main(names) {
  const unknown = names.filter((name) => !(name in PARTS));
  if (unknown.length > 0) {
    throw new Error(`unknown: ${unknown.join(' ')}; there are ${Object.keys(PARTS).join(' ')}`);
  }
  const from = Date.now();
  const where = await machine();
  const figures = [];
  for (const name of names.length > 0 ? names : Object.keys(PARTS)) {
    console.log(`-- ${name}`);
    for (const figure of await PARTS[name]()) {
      figures.push(figure);
      console.log(`${figure.what}\n   ${figure.got}` +
        (figure.reach ? `\n   to reach: ${figure.reach}: ${VERDICT.get(figure.met)}` : ''));
    }
  }
  await mkdir(OUT, { recursive: true });
  await writeFile(path.join(OUT, 'bench.md'), document(figures, where, (Date.now() - from) / 1000));
  await writeFile(path.join(OUT, 'bench.json'),
    `${JSON.stringify({ at: new Date().toISOString(), machine: where, figures }, null, 1)}\n`);
  console.log(`written to ${path.relative('.', OUT)}/bench.md and bench.json`);
}

setTimeout(() => {
  console.error(`not over after ${LIMIT_MS / 60000} minutes; given up`);
  process.exit(1);
}, LIMIT_MS).unref();

main(process.argv.slice(2)).then(() => process.exit(0), (error) => {
  console.error(error.stack);
  process.exit(1);
});
