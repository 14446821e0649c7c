// wake.mjs - parked polls: their memory, what they cost a waiting one, and how
// long it takes to wake many of one account.

import { median, ms, percentile, range } from './figures.mjs';
import { Stage, Tool, memoryOf } from './stage.mjs';

const MANY = 1000;
const MOST = 7900; // the default of poll.max_parked is 8,000
const ROUNDS = 4;
const SAMPLES = 120;
const WAKES = 10;

const KIB = 1024;

async function memory(stage, probe) {
  const pid = stage.pid('responder-1');
  // The first thousand pays for what stays: heap, page cache, tables.
  await probe.ask(`park ${MANY} own`);
  await probe.ask('leave');
  const fresh = await memoryOf(pid);
  const rows = [];
  for (let i = 0; i < 3; i++) {
    await probe.ask(`park ${MANY} own`);
    rows.push((await memoryOf(pid)).pss);
    await probe.ask('leave');
  }
  return { fresh: fresh.pss, rows };
}

async function firstTime(stage, probe) {
  const pid = stage.pid('responder-1');
  const before = await memoryOf(pid);
  await probe.ask(`park ${MANY} own`);
  const after = await memoryOf(pid);
  await probe.ask('leave');
  return {
    pss: (after.pss - before.pss) * KIB / MANY, rss: (after.rss - before.rss) * KIB / MANY,
  };
}

async function beside(probe, n) {
  const alone = [];
  const many = [];
  const gaps = [];
  for (let i = 0; i < ROUNDS; i++) {
    const a = (await probe.ask(`probe ${SAMPLES}`)).us;
    await probe.ask(`park ${n} own`);
    const b = (await probe.ask(`probe ${SAMPLES}`)).us;
    await probe.ask('leave');
    gaps.push(percentile(b, 0.5) - percentile(a, 0.5));
    alone.push(...a);
    many.push(...b);
  }
  return { alone, many, gaps, gap: median(gaps) };
}

function besideFigure(n, result, reach) {
  const { alone, many, gaps, gap } = result;
  return {
    what: `commit → first byte of a waiting poll, ${n} others parked, above the same with none`,
    reach,
    got: `p50 ${ms(gap)} above (${range(gaps, ms)}); p50 ${ms(percentile(many, 0.5))}, ` +
      `p99 ${ms(percentile(many, 0.99))}, alone ${ms(percentile(alone, 0.5))} and ` +
      `${ms(percentile(alone, 0.99))}`,
    met: reach ? gap <= 500 : null,
    how: `\`tests/bench/probe.c\`: a commit through the store and a ring, as from another ` +
      `responder; ${ROUNDS} rounds of ${SAMPLES} with and without in turn. Each of the ` +
      'others is of an account of its own.',
    raw: {
      n, gap_us: gap, gaps_us: gaps,
      alone: { p50: percentile(alone, 0.5), p99: percentile(alone, 0.99) },
      many: { p50: percentile(many, 0.5), p99: percentile(many, 0.99) },
    },
  };
}

async function wakeFigure(probe) {
  await probe.ask(`park ${MANY} one`);
  const { us } = await probe.ask(`wake ${WAKES}`);
  await probe.ask('leave');
  const of = (i) => us.map((row) => row[i]);
  return {
    what: `waking ${MANY} polls of one account by one commit`,
    reach: '',
    got: `first after ${ms(median(of(0)))}, half after ${ms(median(of(1)))}, ` +
      `last after ${ms(median(of(2)))} (${range(of(2), ms)})`,
    met: null,
    how: `the same program, ${WAKES} times; medians`,
    raw: { us },
  };
}

/** @returns {Promise<import('./figures.mjs').Figure[]>} */
export async function wake() {
  const stage = await Stage.start();
  const probe = new Tool('probe', [stage.port, stage.data, stage.pid('responder-1')]);
  try {
    await probe.ask(`accounts ${MOST}`);
    const first = await firstTime(stage, probe);
    const later = await memory(stage, probe);
    const figures = [{
      what: `memory of a parked poll in the responder, at ${MANY}`,
      reach: '≤ 8 KiB',
      got: `${(first.pss / KIB).toFixed(1)} KiB`,
      met: first.pss <= 8 * KIB,
      how: 'growth of the proportional set size (`/proc/PID/smaps_rollup`) from none to ' +
        `${MANY} parked polls, right after the start, so that nothing freed earlier is ` +
        'used again',
      raw: { first, later },
    }];
    figures.push(besideFigure(MANY, await beside(probe, MANY), 'p50 ≤ 0.5 ms above'));
    figures.push(besideFigure(MOST, await beside(probe, MOST), ''));
    figures.push(await wakeFigure(probe));
    stage.guard();
    return figures;
  } finally {
    await probe.end();
    await stage.stop();
  }
}
