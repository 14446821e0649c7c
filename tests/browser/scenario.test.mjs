// scenario.test.mjs - the main job in a browser: research in the background,
// ordinary questions meanwhile, an adjustment, a stop, a page that is closed.
// Everything is real: the bundled model, over the documentation of SQLite.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, rm } from 'node:fs/promises';
import path from 'node:path';

import { Gate } from '../support/gate.mjs';
import { BUILD, bin, freePort, startAside, temporaryDir } from '../support/harness.mjs';
import { browserTest } from './browser.mjs';
import { PHONE } from './page.mjs';

const RESEARCH = 'How does WAL mode change concurrency and durability ' +
  'compared with rollback journals?';
const ADJUSTMENT = 'Also compare checkpoint behaviour';
const QUESTIONS = ['What does PRAGMA foreign_keys do?', 'What is a WITHOUT ROWID table?'];
const OTHER = 'How do full-text indexes of FTS5 store their segments?';
const LAST = 'What is the maximum length of an SQL statement?';

const RESEARCH_MS = 90000;

/** Where Debian put the pages. */
function documentation() {
  const files = execFileSync('dpkg', ['-L', 'sqlite3-doc'], { encoding: 'utf8' });
  const page = files.split('\n').find((file) => file.endsWith('/wal.html'));
  return path.dirname(page);
}

/** An Aside with the bundled model, its library indexed beforehand. */
async function start(t) {
  const dir = await temporaryDir();
  const library = documentation();
  const data = path.join(dir, 'data');
  await mkdir(data);
  execFileSync(bin('aside', false), ['index'], {
    env: { ...process.env, ASIDE_DATA: data, ASIDE_LIBRARY: library }, stdio: 'pipe',
  });
  const port = await freePort();
  const gate = await Gate.open(t, `http://127.0.0.1:${port}/offline/v1`);
  const aside = await startAside({
    t, dir, library, port, model: 'offline', san: false,
    conf: {
      'model.url': gate.url,
      'model.first_byte_timeout_ms': 240000, // it waits at the gate
      'model.context_tokens': 1000000, // as `aside run` has it
      'model.prompt_tokens': 1000000,
      'offline.words_per_second': 80,
    },
    static: path.join(BUILD, 'static'),
  });
  gate.target = `http://127.0.0.1:${aside.port}/offline/v1`;
  t.after(() => rm(dir, { recursive: true, force: true }));
  return { aside, gate };
}

const get = async (aside, where) => {
  const reply = await aside.api('GET', where);
  assert.equal(reply.status, 200, reply.text);
  return reply.json;
};

const isEnded = (run) => !['running', 'awaiting_input'].includes(run.state);

browserTest('R04 a person keeps chatting while research runs', async (t, browser) => {
  const { aside, gate } = await start(t);
  const person = await browser.newPerson();
  const page = await browser.open(person, aside);
  const { tab } = page;

  await tab.getByText('What would you like to know?').waitFor();
  await page.pictures('01-welcome');

  // Research starts, and the composer stays open. However slow the machine, it
  // has work left until all that belongs beside it has been seen.
  let asked = 0;
  gate.rule(() => (asked += 1) <= 2);
  await page.choose('Background');
  await page.say(RESEARCH);
  const strip = page.answer(RESEARCH).locator('.strip');
  await strip.getByText('Researching…').waitFor();
  await page.until(page.background, ([s]) => /1\s+running/.test(s));
  const runId = await page.answer(RESEARCH).getAttribute('data-run');
  await page.choose('Auto');

  // Two questions are answered meanwhile, each under its own.
  for (const question of QUESTIONS) {
    await page.say(question);
  }

  // The adjustment goes to the research that is shown, from its panel.
  await page.openPanel();
  const card = page.card(/WAL mode/);
  const box = card.getByLabel('Add or change a requirement of this research');
  const letNewsIn = await page.holdNews();
  await box.fill(ADJUSTMENT);
  await box.press('Enter');
  const receipt = card.locator('.receipt', { hasText: ADJUSTMENT });
  await receipt.getByText('Received').waitFor();
  letNewsIn();
  let isHanded = false;
  gate.rule((text) => {
    const passes = !isHanded;
    isHanded ||= text.includes(ADJUSTMENT);
    return passes;
  });
  await receipt.getByText('Handed to the research model').waitFor();
  await page.pictures('02-adjusted');

  for (const question of QUESTIONS) {
    const answer = page.answer(question);
    await answer.locator('.prose').waitFor();
    await page.until(answer.getByRole('button', { name: 'Stop' }), (all) => all.length === 0);
    const [text] = await page.until(answer, ([s]) => s.length > 40);
    const id = await answer.getAttribute('data-run');
    const { run } = await get(aside, `/runs/${id}`);
    assert.equal(run.state, 'completed');
    assert.equal((await get(aside, `/runs/${runId}`)).run.state, 'running',
      'the research still runs');
    const word = question.includes('foreign_keys') ? /foreign.key/i : /without rowid/i;
    assert.match(text, word);
  }
  await tab.locator('.thread').evaluate((e) => e.scrollTo(0, e.scrollHeight));
  await page.until(tab.locator('.to-end'), (all) => all.length === 0);
  await page.picture('03-answered');

  // The page is closed; the research does not care.
  const { hash } = new URL(tab.url());
  await tab.close();
  assert.equal((await get(aside, `/runs/${runId}`)).run.state, 'running');
  gate.rule(() => true);
  await aside.until((s) => s.runs.has(runId) && isEnded(s.runs.get(runId)), { ms: RESEARCH_MS });

  // The adjustment reached the model as it was typed.
  const { run, handoffs, sources } = await get(aside, `/runs/${runId}`);
  assert.ok(run.ended_at - run.started_at >= 10000, `${run.ended_at - run.started_at} ms`);
  assert.equal(run.state, 'completed', run.reason);
  assert.deepEqual(handoffs.map((h) => [h.origin, h.state]), [['panel', 'handed']]);
  const input = await get(aside, `/requests/${handoffs[0].request_id}/input`);
  assert.ok(input.messages.some((m) => m.role === 'user' && m.content.endsWith(ADJUSTMENT)),
    'its text stands in the request');

  // The page, opened anew, shows all of it.
  const again = await browser.open(person, aside, hash);
  const report = again.answer(RESEARCH).locator('.report');
  await report.getByRole('heading', { name: 'Durability', exact: true }).waitFor();
  for (const question of QUESTIONS) {
    await again.answer(question).locator('.prose').waitFor();
  }
  await again.exchange(ADJUSTMENT).getByText('Handed to the research model').waitFor();

  // What it cites are pages that exist.
  const cites = await report.locator('.cite').allInnerTexts();
  assert.ok(cites.length >= 5, `${cites.length} citations`);
  for (const n of new Set(cites.map(Number))) {
    const source = sources.find((s) => s.n === n);
    assert.ok(source?.location.startsWith(aside.libraryDir), `[${n}] ${source?.location}`);
    assert.ok(existsSync(source.location), source.location);
  }
  const cite = report.locator('.cite').first();
  const { location } = sources.find((s) => s.n === Number(cites[0]));
  await cite.scrollIntoViewIfNeeded();
  await again.pictures('04-report');
  const wide = again.tab.viewportSize();
  await again.tab.emulateMedia({ colorScheme: 'dark' });
  await again.tab.setViewportSize(PHONE);
  await report.evaluate((e) => e.scrollIntoView());
  await again.picture('04-report-phone-dark');
  await again.tab.emulateMedia({ colorScheme: 'light' });
  await again.tab.setViewportSize(wide);
  await cite.scrollIntoViewIfNeeded();
  await cite.hover();
  const passage = again.tab.locator('#passage');
  await passage.getByText(location).waitFor();
  await again.picture('05-source');
  await again.composer.hover();
  await passage.waitFor({ state: 'detached' });

  // Its coverage names the request and the adjustment.
  await again.answer(RESEARCH).getByRole('button', { name: /^Details/ }).click();
  const covered = again.card(/WAL mode/).locator('.coverage li');
  const [first, second] = await again.until(covered, (all) => all.length === 2);
  assert.ok(first.includes(RESEARCH), first);
  assert.ok(second.includes(ADJUSTMENT), second);
  assert.deepEqual(run.coverage.map((c) => c.source), ['request', 'handoff']);
  await again.pictures('06-panel');

  // Stop ends the research that it names, and nothing else.
  await again.choose('Background');
  await again.say(OTHER);
  await again.answer(OTHER).locator('.strip').getByText('Researching…').waitFor();
  await again.choose('Auto');
  await again.say(LAST);
  await again.card(/FTS5/).getByRole('button', { name: 'Stop research' }).click();
  await again.card(/FTS5/).getByText('You stopped it.').waitFor();
  await again.until(again.background, ([s]) => /idle/.test(s));
  const last = again.answer(LAST);
  await last.locator('.prose').waitFor();
  await again.until(last.getByRole('button', { name: 'Stop' }), (all) => all.length === 0);
  await again.pictures('07-stopped');

  const states = (await get(aside, '/runs')).runs.map((r) => [r.id, r.state]);
  const stopped = await again.answer(OTHER).getAttribute('data-run');
  assert.deepEqual(states.filter(([, s]) => s !== 'completed'), [[stopped, 'stopped']]);
  assert.equal((await get(aside, `/runs/${runId}`)).run.ended_at, run.ended_at);
});
