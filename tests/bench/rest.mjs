// rest.mjs - the processes with nothing to do.

import { setTimeout as pause } from 'node:timers/promises';

import { Stage, memoryOf, workOf } from './stage.mjs';

const SECONDS = Number(process.env.BENCH_REST ?? 20);
const SETTLE_MS = 10000;
const LIMIT_KIB = 16 * 1024;

/** @returns {Promise<import('./figures.mjs').Figure[]>} */
export async function rest() {
  const stage = await Stage.start({ runtime: true });
  try {
    await pause(SETTLE_MS); // what starting leaves to do
    const names = ['responder-1', 'asided'];
    const pids = names.map((name) => stage.pid(name));
    const before = await Promise.all(pids.map(workOf));
    await pause(SECONDS * 1000);
    const after = await Promise.all(pids.map(workOf));
    const memory = await Promise.all(pids.map(memoryOf));
    stage.guard();
    const sum = (list, of) => list.reduce((total, x) => total + of(x), 0);
    const ticks = sum(after, (x) => x.ticks) - sum(before, (x) => x.ticks);
    const switches = sum(after, (x) => x.switches) - sum(before, (x) => x.switches);
    const rss = sum(memory, (m) => m.rss);
    const raw = { names, before, after, memory, seconds: SECONDS };
    const mib = (kib) => `${(kib / 1024).toFixed(1)} MiB`;
    return [{
      what: 'responder and runtime at rest: memory together',
      reach: '≤ 16 MiB',
      got: `${mib(rss)} resident (${memory.map((m, i) => `${names[i]} ${mib(m.rss)}`).join(', ')}); ` +
        `${mib(sum(memory, (m) => m.pss))} with shared pages counted once, ` +
        `${mib(sum(memory, (m) => m.own))} their own`,
      met: rss <= LIMIT_KIB,
      how: '`/proc/PID/smaps_rollup`, one responder and the runtime, an empty database',
      raw,
    }, {
      what: `the same: processor time in ${SECONDS} s`,
      reach: '0 ticks, no wake-ups',
      got: `${ticks} ticks, ${switches} voluntary switches`,
      met: ticks === 0 && switches === 0,
      how: '`/proc/PID/stat` and `/proc/PID/task/*/status`, all threads; BENCH_REST=60 ' +
        'makes it a minute',
      raw,
    }];
  } finally {
    await stage.stop();
  }
}
