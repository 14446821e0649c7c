// accept.mjs - accepted messages a second, beside a trivial libfcgi program.

import { execFile } from 'node:child_process';
import path from 'node:path';
import { promisify } from 'node:util';

import { ROOT } from '../support/harness.mjs';
import { median, percent, range } from './figures.mjs';
import { Stage, Tool } from './stage.mjs';

const run = promisify(execFile);

const ACCOUNTS = 2000;
const BLOCK = 500;
const CONNECTIONS = 64;
const SECONDS = 3;
const PAIRS = 6;
const WARM_UP_S = 1;
const THREADS = 4; // of aside.fcgi on up to two processors, and so of hello

const rate = (result) => result.requests / (result.us / 1e6);
const whole = (n) => n.toFixed(0);

let runs = 0;
let from = 0;

/**
 * One run of wrk. Throws unless every reply was a 2xx.
 * @param {number} port
 * @param {number} first number of the first account's conversation
 * @param {number} seconds
 * @param {number} block messages for one account before it is another's turn
 */
export async function load(port, first, seconds, block = BLOCK) {
  runs++;
  const { stdout } = await run('wrk', [
    '-t1', `-c${CONNECTIONS}`, `-d${seconds}s`, '--timeout', '10s',
    '-s', path.join(ROOT, 'tests/bench/accept.lua'), `http://127.0.0.1:${port}`,
    '--', `r${runs}`, String(ACCOUNTS), String(first), String(block), String(from),
  ]);
  const result = JSON.parse(stdout.match(/^RESULT (.*)$/m)[1]);
  // The next run takes accounts that this one left alone.
  from += Math.ceil((result.requests + CONNECTIONS) / block);
  if (result.status > 0 || result.socket > 0) {
    throw new Error(`${result.status} refused, ${result.socket} failed:\n${stdout}`);
  }
  return result;
}

export async function makeAccounts(stage) {
  const probe = new Tool('probe', [stage.port, stage.data, stage.pid('responder-1')]);
  const { first } = await probe.ask(`accounts ${ACCOUNTS}`);
  await probe.end();
  return first;
}

async function pairs(stage, first) {
  const rows = [];
  for (let i = 0; i < PAIRS; i++) {
    // Which of the two goes first changes, so that neither has the better
    // moment each time.
    const order = i % 2 ? ['hello', 'aside'] : ['aside', 'hello'];
    const row = {};
    for (const name of order) {
      row[name] = await load(
        name === 'hello' ? stage.helloPort : stage.port, first, SECONDS);
    }
    rows.push(row);
    stage.guard();
  }
  return rows;
}

/** What was counted must be in the database, and nothing else. */
async function check(stage, requests, nRuns) {
  const stored = await stage.count('message');
  if (stored < requests || stored > requests + nRuns * CONNECTIONS) {
    throw new Error(`${requests} were accepted, ${stored} are stored`);
  }
}

/** @returns {Promise<import('./figures.mjs').Figure[]>} */
export async function accept() {
  const stage = await Stage.start({ threads: THREADS });
  try {
    const first = await makeAccounts(stage);
    const warm = await load(stage.port, first, WARM_UP_S);
    await load(stage.helloPort, first, WARM_UP_S);
    const rows = await pairs(stage, first);
    await check(stage,
      rows.reduce((sum, row) => sum + row.aside.requests, warm.requests), PAIRS + 1);
    const ratios = rows.map((row) => rate(row.aside) / rate(row.hello));
    const ours = rows.map((row) => rate(row.aside));
    const theirs = rows.map((row) => rate(row.hello));
    const ratio = median(ratios);
    return [{
      what: `accepted messages a second, ${CONNECTIONS} connections, runtime stopped, ` +
        'beside a trivial libfcgi program',
      reach: '≥ 70 %',
      got: `${percent(ratio)} (${range(ratios, percent)}): ${whole(median(ours))}/s ` +
        `beside ${whole(median(theirs))}/s`,
      met: ratio >= 0.7,
      how: `\`wrk -t1 -c${CONNECTIONS} -d${SECONDS}s -s tests/bench/accept.lua\`, ` +
        `${PAIRS} pairs in turn; \`auth = proxy\`, ${ACCOUNTS} accounts, ` +
        '`short.limit = 1000`; one responder, ' +
        `${THREADS} threads on both sides. Every reply a 202, and the rows counted.`,
      raw: { ratio, ratios, rows },
    }];
  } finally {
    await stage.stop();
  }
}
