// accept.mjs - accepted messages a second, beside a trivial libfcgi program.

import { execFile } from 'node:child_process';
import path from 'node:path';
import { promisify } from 'node:util';

import { ROOT, eventually } from '../support/harness.mjs';
import { median, percent, range } from './figures.mjs';
import { Stage, Tool } from './stage.mjs';

const run = promisify(execFile);

const ACCOUNTS = 2000;
const BLOCK = 500;
const BUSY_ACCOUNTS = 1000; // with one place each: Runs at once beside a runtime
const CONNECTIONS = 64;
const SECONDS = 3;
const PAIRS = 6;
const PAIRS_MORE = 3;
const WARM_UP_S = 1;
const THREADS = 4; // of aside.fcgi on up to two processors, and so of hello

const rate = (result) => result.accepted / (result.us / 1e6);
const whole = (n) => n.toFixed(0);

let runs = 0;
let from = 0;

/**
 * One run of wrk. Throws unless every reply was a 2xx, or with mayRefuse at
 * least an answer.
 * @param {number} port
 * @param {{first: number, accounts: number}} whose
 * @param {{seconds?: number, block?: number, mayRefuse?: boolean}} [options]
 *   block: messages for one account before it is another's turn
 */
export async function load(port, { first, accounts }, options = {}) {
  const { seconds = SECONDS, block = BLOCK, mayRefuse = false } = options;
  runs++;
  const { stdout } = await run('wrk', [
    '-t1', `-c${CONNECTIONS}`, `-d${seconds}s`, '--timeout', '10s',
    '-s', path.join(ROOT, 'tests/bench/accept.lua'), `http://127.0.0.1:${port}`,
    '--', `r${runs}`, String(accounts), String(first), String(block), String(from),
  ]);
  const result = JSON.parse(stdout.match(/^RESULT (.*)$/m)[1]);
  // The next run takes accounts that this one left alone.
  from += Math.ceil((result.requests + CONNECTIONS) / block);
  if ((result.status > 0 && !mayRefuse) || result.socket > 0) {
    throw new Error(`${result.status} refused, ${result.socket} failed:\n${stdout}`);
  }
  return { ...result, accepted: result.requests - result.status };
}

export async function makeAccounts(stage, accounts = ACCOUNTS) {
  const probe = new Tool('probe', [stage.port, stage.data, stage.pid('responder-1')]);
  const { first } = await probe.ask(`accounts ${accounts}`);
  await probe.end();
  return { first, accounts };
}

/**
 * Ours and hello's in turn.
 * @param {() => Promise<{accepted: number, us: number}>} ours
 */
async function pairs(stage, whose, n, ours) {
  const rows = [];
  for (let i = 0; i < n; i++) {
    // Which of the two goes first changes, so that neither has the better
    // moment each time.
    const row = {};
    for (const name of i % 2 ? ['hello', 'aside'] : ['aside', 'hello']) {
      row[name] = name === 'aside' ? await ours() : await load(stage.helloPort, whose);
    }
    rows.push(row);
    stage.guard();
  }
  return rows;
}

/** What was counted must be in the database, and nothing else. */
async function check(stage, results) {
  const accepted = results.reduce((sum, result) => sum + result.accepted, 0);
  const stored = await stage.count('message');
  if (stored < accepted || stored > accepted + results.length * CONNECTIONS) {
    throw new Error(`${accepted} were accepted, ${stored} are stored`);
  }
}

function figure(rows, { least, ...words }) {
  const ratios = rows.map((row) => rate(row.aside) / rate(row.hello));
  const ratio = median(ratios);
  const rates = (name) => whole(median(rows.map((row) => rate(row[name]))));
  return {
    ...words,
    got: `${percent(ratio)} (${range(ratios, percent)}): ${rates('aside')}/s ` +
      `beside ${rates('hello')}/s`,
    met: least === undefined ? null : ratio >= least,
    raw: { ratio, ratios, rows },
  };
}

async function alone() {
  const stage = await Stage.start({ threads: THREADS });
  try {
    const whose = await makeAccounts(stage);
    const warm = await load(stage.port, whose, { seconds: WARM_UP_S });
    await load(stage.helloPort, whose, { seconds: WARM_UP_S });
    const rows = await pairs(stage, whose, PAIRS, () => load(stage.port, whose));
    const spread = await pairs(
      stage, whose, PAIRS_MORE, () => load(stage.port, whose, { block: 1 }));
    await check(stage, [warm, ...[...rows, ...spread].map((row) => row.aside)]);
    return [figure(rows, {
      what: `accepted messages a second, ${CONNECTIONS} connections, runtime stopped, ` +
        'beside a trivial libfcgi program',
      reach: '≥ 70 %',
      least: 0.7,
      how: `\`wrk -t1 -c${CONNECTIONS} -d${SECONDS}s -s tests/bench/accept.lua\`, ${PAIRS} ` +
        `pairs in turn; \`auth = proxy\`, ${ACCOUNTS} accounts, filled one after the other, ` +
        `\`short.limit = 1000\`, \`limit.account_per_minute = 0\`; one responder, ${THREADS} threads on both sides. Every ` +
        'reply a 202, and the rows counted.',
    }), figure(spread, {
      what: 'the same, each message for another account than the one before',
      reach: '',
      how: `${PAIRS_MORE} pairs; each message touches other pages of every index`,
    })];
  } finally {
    await stage.stop();
  }
}

async function withRuntime() {
  const provider = new Tool('provider', ['instant']);
  const { port } = await provider.answer();
  let stage;
  try {
    stage = await Stage.start({
      threads: THREADS, runtime: true,
      conf: {
        'model.url': `http://127.0.0.1:${port}/v1`, 'model.name': 'bench',
        'model.max_concurrent': CONNECTIONS, 'short.limit': 1,
      },
    });
    const whose = await makeAccounts(stage, BUSY_ACCOUNTS);
    const rows = await pairs(stage, whose, PAIRS_MORE,
      () => load(stage.port, whose, { block: 1, mayRefuse: true }));
    await check(stage, rows.map((row) => row.aside));
    await eventually(async () => await stage.count('slot') === 0,
      { ms: 30000, what: 'every Run has ended' });
    return [figure(rows, {
      what: 'the same with a runtime that ends every Run',
      reach: '≥ 35 %',
      least: 0.35,
      how: `${PAIRS_MORE} pairs; a provider that answers at once ` +
        `(\`tests/bench/provider.c\`), \`model.max_concurrent = ${CONNECTIONS}\`; ` +
        `${BUSY_ACCOUNTS} accounts with one place each, in turn, so that what is accepted ` +
        'is what has ended, but for the last second. Refusals (429) are not counted.',
    })];
  } finally {
    await provider.end();
    await stage?.stop();
  }
}

/** @returns {Promise<import('./figures.mjs').Figure[]>} */
export async function accept() {
  return [...await alone(), ...await withRuntime()];
}
