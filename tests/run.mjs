// run.mjs - run test files, so many at a time, in the order they are named;
// `node --test` would sort them, and leave long ones alone at the end.
//
//   node tests/run.mjs <at a time> <file>...

import path from 'node:path';
import { run } from 'node:test';
import { spec } from 'node:test/reporters';

const [concurrency, ...names] = process.argv.slice(2);
if (names.length === 0) {
  throw new Error('name the test files to run');
}

run({ files: names.map((name) => path.resolve(name)), concurrency: Number(concurrency) })
  .on('test:fail', () => {
    process.exitCode = 1;
  })
  .compose(new spec())
  .pipe(process.stdout);
