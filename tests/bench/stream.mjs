// stream.mjs - from a token at the provider to the token at a client's long
// poll, with many Runs streaming at once.

import { ms, percent, percentile } from './figures.mjs';
import { Stage, Tool, workOf } from './stage.mjs';

const RUNS = 100;
const PER_SECOND = 20;
const TOKENS = 200;

const TICKS_PER_SECOND = 100;

async function once(one) {
  const provider = new Tool('provider', ['stream']);
  const { port } = await provider.answer();
  let stage;
  try {
    stage = await Stage.start({
      runtime: true,
      conf: {
        'model.url': `http://127.0.0.1:${port}/v1`, 'model.name': 'bench',
        'model.max_concurrent': 2 * RUNS,
      },
    });
    const names = ['nginx', 'responder-1', 'asided'];
    const pids = await Promise.all(names.map((name) => stage.workerOf(name)));
    const before = await Promise.all(pids.map(workOf));
    const at = Date.now();
    const result = await provider.ask(
      `${stage.port} ${RUNS} ${TOKENS} ${PER_SECOND} ${one ? 1 : 0}`);
    const seconds = (Date.now() - at) / 1000;
    const after = await Promise.all(pids.map(workOf));
    stage.guard();
    result.load = Object.fromEntries(names.map((name, i) => [
      name, (after[i].ticks - before[i].ticks) / TICKS_PER_SECOND / seconds]));
    result.seconds = seconds;
    return result;
  } finally {
    await provider.end();
    await stage?.stop();
  }
}

function figure(result, whose, reach) {
  const { us } = result;
  const [p50, p99] = [percentile(us, 0.5), percentile(us, 0.99)];
  const whole = result.seen === result.sent && result.sent === RUNS * TOKENS;
  return {
    what: `token at the provider → token at a long-poll client, ${RUNS} Runs, ${whose}`,
    reach,
    got: `p50 ${ms(p50)}, p99 ${ms(p99)}, longest ${ms(percentile(us, 1))}` +
      (whole ? '' : `; ${result.sent} sent, ${result.seen} seen`),
    met: reach ? whole && p50 <= 60000 && p99 <= 150000 : null,
    how: `\`tests/bench/provider.c\`: ${PER_SECOND} tokens a second for each Run, ` +
      `${result.sent} in all, each carrying the time it was written; \`auth = proxy\`, ` +
      `\`short.limit = 1000\`, \`model.max_concurrent = ${2 * RUNS}\`, one responder. ` +
      `Of a processor: the measuring program ${percent(result.busy)}, ` +
      Object.entries(result.load).map(([name, part]) => `${name} ${percent(part)}`).join(', '),
    raw: {
      p50_us: p50, p90_us: percentile(us, 0.9), p99_us: p99, max_us: percentile(us, 1),
      sent: result.sent, seen: result.seen, load: result.load, busy: result.busy,
    },
  };
}

/** @returns {Promise<import('./figures.mjs').Figure[]>} */
export async function stream() {
  return [
    figure(await once(false), 'each of an account of its own', 'p50 ≤ 60 ms, p99 ≤ 150 ms'),
    figure(await once(true), 'all of one account, one poll', ''),
  ];
}
