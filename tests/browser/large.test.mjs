// large.test.mjs - a conversation of a thousand messages is opened, and
// written in, as quickly as a new one.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import path from 'node:path';

import { browserTest, stage } from './browser.mjs';

const MESSAGES = 1000;
const RESEARCH_EACH = 20; // every so many-th: 50 of them
const PAGE = 50; // messages that one read brings
const CHARS = 100;
const LARGE = '#conv=conv_1000';
const OPENINGS = Number(process.env.REPEATS ?? 3);

/** What a person does not notice; a slow machine is compared with itself. */
const OPENING_MS = 500;
const FRAME_MS = 16;
const SLOWER = 3;

const SHORT = `A **short** answer with \`code\`, a [link](https://example.org/) and a list:

* the first thing that is to be said about it,
* and the second.

| Column | Another |
|--------|---------|
| one    | two     |
`;
const REPORT = Array.from({ length: 8 }, (_, i) => `## Part ${i}\n\n${
  'A sentence of the report that says something of it. '.repeat(6)}\n\n\`\`\`\ncode\n\`\`\`\n`)
  .join('\n');

/** A conversation like that of a year, put beside the others. */
function fill(aside) {
  const text = (s) => `'${s.replaceAll("'", "''")}'`;
  const sql = `
    BEGIN IMMEDIATE;
    INSERT INTO conversation (id, account_id, title, created_ms, updated_ms)
      SELECT 1000, account_id, 'Long', created_ms, updated_ms FROM conversation LIMIT 1;
    INSERT INTO message (id, conversation_id, body, created_ms)
      WITH n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${MESSAGES})
      SELECT 1000 + i, 1000, 'Question ' || i, 1700000000000 + 60000 * i FROM n;
    INSERT INTO run (id, account_id, conversation_id, message_id, kind, depth, missing_info,
        state, phase, title, progress, created_ms, started_ms, ended_ms, accepted_seq, ended_seq,
        requests_limit, tool_calls_limit, seconds_limit, tokens_limit,
        answer_revision, answer_parts, answer_complete)
      SELECT m.id, c.account_id, 1000, m.id,
          iif(m.id % ${RESEARCH_EACH} = 0, 'research', 'short'), 'normal', 'assume',
          'completed', 'answering', m.body, '', m.created_ms, m.created_ms,
          m.created_ms + 5000, 0, 0, 8, 24, 600, 100000, 1, 1, 1
      FROM message m JOIN conversation c ON c.id = 1000 WHERE m.conversation_id = 1000;
    INSERT INTO answer (run_id, body)
      SELECT id, iif(kind = 'research', ${text(REPORT)}, ${text(SHORT)})
      FROM run WHERE conversation_id = 1000;
    COMMIT;`;
  execFileSync('sqlite3', ['-batch', '-bail', '-cmd', '.timeout 20000',
    path.join(aside.dataDir, 'aside.db')], { input: sql, stdio: ['pipe', 'ignore', 'inherit'] });
}

/** An answer that goes on, a word every few milliseconds, until it is ended. */
function streaming(model) {
  let isOver = false;
  model.next('entry', async (req, reply) => {
    for (let n = 0; !isOver && !reply.ended; n++) {
      reply.text(`word ${n} `);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    reply.finish('stop').usage().done();
  });
  return () => { isOver = true; };
}

const middle = (all, part = 0.5) =>
  all.toSorted((a, b) => a - b)[Math.min(all.length - 1, Math.floor(all.length * part))];

/** Once: resolves when the newest answer, and with it a text, can be seen. */
const LOOK = (text) => new Promise((resolve) => {
  const look = () => {
    const last = [...document.querySelectorAll('article.exchange')].at(-1);
    const prose = last?.querySelector('.prose:not(.plain)');
    const box = prose?.getBoundingClientRect();
    if (last?.innerText.includes(text) && box?.bottom > 0 && box.bottom < innerHeight) {
      resolve(performance.now());
    } else {
      requestAnimationFrame(look);
    }
  };
  requestAnimationFrame(look);
});

/** Milliseconds from a click in a page that is loaded, to the same. */
async function leaping(browser, { person, aside }, from, hash, question) {
  const times = [];
  for (let i = 0; i < OPENINGS; i++) {
    const page = await browser.open(person, aside, from);
    await page.prose('A small question').waitFor();
    await page.tab.evaluate(`globalThis.LOOK = ${LOOK}; undefined`);
    times.push(await page.tab.evaluate(async ([to, text]) => {
      const began = performance.now();
      location.hash = to;
      return await globalThis.LOOK(text) - began;
    }, [hash, question]));
    await page.tab.close();
  }
  return times;
}

/** Milliseconds from a click on the control to the panel with so many cards. */
function panelOpening(page, cards) {
  return page.tab.evaluate((count) => new Promise((resolve) => {
    const began = performance.now();
    document.getElementById('background').click();
    const look = () => (document.querySelectorAll('.card').length === count
      ? resolve(performance.now() - began) : requestAnimationFrame(look));
    requestAnimationFrame(look);
  }), cards);
}

/** Milliseconds from the navigation until the newest answer can be seen. */
async function opening(browser, { person, aside }, hash, question) {
  const times = [];
  for (let i = 0; i < OPENINGS; i++) {
    const page = await browser.open(person, aside, hash, ({ tab }) =>
      tab.addInitScript(`globalThis.seen = (${LOOK})(${JSON.stringify(question)})`));
    times.push(await page.tab.evaluate(() => globalThis.seen));
    await page.tab.close();
  }
  return times;
}

/**
 * Processor time of the page's main thread from now on, in ms: what others take
 * of the machine meanwhile does not count.
 */
async function processorClock(page) {
  const cdp = await page.tab.context().newCDPSession(page.tab);
  await cdp.send('Performance.enable', { timeDomain: 'threadTicks' });
  const read = async () => (await cdp.send('Performance.getMetrics')).metrics
    .find((m) => m.name === 'TaskDuration').value * 1000;
  const began = await read();
  return async () => {
    const used = await read() - began;
    await cdp.detach();
    return used;
  };
}

/**
 * The milliseconds of work of each frame while somebody types: what the input
 * takes, and what style, layout and paint take after it.
 */
async function typing(page, model, question) {
  const end = streaming(model);
  await page.say(question);
  await page.until(page.prose(question), ([s]) => s?.includes('word 3'));
  await page.tab.evaluate(() => {
    const after = (run) => {
      const { port1, port2 } = new MessageChannel();
      port1.onmessage = run;
      port2.postMessage(0);
    };
    let input = 0;
    globalThis.frames = [];
    document.addEventListener('keydown', () => {
      const began = performance.now();
      after(() => { input += performance.now() - began; });
    }, true);
    const frame = () => {
      const began = performance.now();
      const before = input;
      input = 0;
      after(() => globalThis.frames.push(before + performance.now() - began));
      globalThis.clock = requestAnimationFrame(frame);
    };
    frame();
  });
  const clock = await processorClock(page);
  await page.composer.pressSequentially('x'.repeat(CHARS), { delay: 15 });
  const used = await clock();
  const frames = await page.tab.evaluate(() => {
    cancelAnimationFrame(globalThis.clock);
    return globalThis.frames;
  });
  await page.composer.fill('');
  await page.stopButton(question).waitFor();
  end();
  await page.untilAnswered(question);
  assert.ok(frames.length > 10, `${frames.length} frames`);
  return { used: used / frames.length, typical: middle(frames), slow: middle(frames, 0.95), max: Math.max(...frames) };
}

const told = ({ used, typical, slow, max }) => [used, typical, slow, max]
  .map((ms) => ms.toFixed(1)).join(' / ');

browserTest('a thousand messages: opening and typing stay as quick as in a new conversation',
  async (t, browser) => {
    const all = await stage(t, browser, { 'model.context_tokens': 1000000 });
    const { model, aside, page } = all;
    model.next('entry', (req, reply) => reply.answer(SHORT));
    await page.say('A small question');
    await page.untilAnswered('A small question');
    const small = await page.address();
    fill(aside);

    const newest = `Question ${MESSAGES}`;
    const openings = {
      'loaded, a new one': await opening(browser, all, small, 'A small question'),
      'loaded, the large one': await opening(browser, all, LARGE, newest),
      'from one to the large one': await leaping(browser, all, small, LARGE, newest),
    };
    for (const [what, times] of Object.entries(openings)) {
      t.diagnostic(`${what}: median ${middle(times).toFixed(0)} ms, 95 % ${
        middle(times, 0.95).toFixed(0)} ms`);
    }
    const [smallOpening, largeOpening, leap] = Object.values(openings).map((s) => middle(s));

    const smallTyping = await typing(page, model, 'Go on in the small one');
    t.diagnostic(`ms of a frame while typing, mean of the processor / median / 95 % / most: ${told(smallTyping)} new`);
    await page.tab.goto(`${page.tab.url().split('#')[0]}${LARGE}`);
    await page.exchange(newest).waitFor();
    const fewTyping = await typing(page, model, 'Go on in the large one');
    t.diagnostic(`${told(fewTyping)} large`);
    for (let n = PAGE; n < MESSAGES; n += PAGE) {
      const had = await page.exchanges.count();
      await page.tab.getByRole('button', { name: 'Show earlier messages' }).click();
      await page.tab.waitForFunction((count) =>
        document.querySelectorAll('article.exchange').length > count, had);
    }
    await page.tab.getByRole('button', { name: 'Show earlier messages' })
      .waitFor({ state: 'detached' });
    assert.equal(await page.exchanges.count(), MESSAGES + 1);
    const whole = await typing(page, model, 'Go on with all of it');
    t.diagnostic(`${told(whole)} with all messages shown`);

    const panel = await panelOpening(page, MESSAGES / RESEARCH_EACH);
    t.diagnostic(`the panel with ${MESSAGES / RESEARCH_EACH} researches: ${panel.toFixed(0)} ms`);

    assert.ok(largeOpening <= Math.max(OPENING_MS, SLOWER * smallOpening),
      `opened in ${largeOpening} ms, a new one in ${smallOpening} ms`);
    assert.ok(leap <= Math.max(OPENING_MS, SLOWER * smallOpening), `went there in ${leap} ms`);
    assert.ok(panel <= Math.max(OPENING_MS, SLOWER * smallOpening), `the panel took ${panel} ms`);
    for (const { used } of [fewTyping, whole]) {
      assert.ok(used <= Math.max(FRAME_MS, SLOWER * smallTyping.used),
        `a frame takes ${used} ms, in a new one ${smallTyping.used} ms`);
    }
  });
