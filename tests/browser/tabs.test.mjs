// tabs.test.mjs - several tabs of one browser: they share one held request,
// show the same, and none depends on another.

import assert from 'node:assert/strict';

import { eventually } from '../support/harness.mjs';
import { browserTest, stage } from './browser.mjs';

/** A reply in pieces; each waits until the test says next(). */
function inPieces(model, pieces, matcher = 'entry') {
  model.next(matcher, async (req, reply) => {
    for (const [i, piece] of pieces.entries()) {
      if (i > 0) {
        await reply.hold(`piece ${i}`);
      }
      reply.text(piece);
    }
    await reply.hold('end');
    reply.finish('stop').usage().done();
  });
  let n = 0;
  return {
    next: async () => (await model.held(`piece ${n += 1}`)).release(),
    end: async () => (await model.held('end')).release(),
  };
}

const QUESTION = 'Tell me in pieces';

/** So many further tabs that show the same as the page. */
async function openTabs(browser, { person, aside, page }, count) {
  await eventually(() => page.hash.startsWith('#conv='));
  const tabs = [];
  for (let i = 0; i < count; i++) {
    const tab = await browser.open(person, aside, page.hash);
    await tab.exchanges.first().waitFor();
    tabs.push(tab);
  }
  return tabs;
}

browserTest('I-4 B-4 of eight tabs one holds a poll; sends and stops answer at once in all',
  async (t, browser) => {
    const all = await stage(t, browser, { 'short.limit': 8 });
    const { model, page } = all;
    await page.say('The first question');
    await page.untilAnswered('The first question');
    const tabs = [page, ...await openTabs(browser, all, 7)];
    await browser.untilHeld(1);

    // Each tab sends; every other tab shows the question and its answer.
    const last = tabs.at(-1);
    for (const [i, tab] of tabs.entries()) {
      await tab.say(`Question of tab ${i + 1}`);
    }
    for (const tab of tabs) {
      await tab.until(tab.answer('Question of tab'),
        (s) => s.length === 8 && s.every((text) => text.includes('A scripted answer.')));
    }
    const order = await page.messages();
    for (const tab of tabs) {
      assert.deepEqual(await tab.messages(), order);
    }
    await browser.untilHeld(1);

    // A stop in one tab is shown in all others.
    const pieces = inPieces(model, ['Once upon a time', ' never']);
    await page.say(QUESTION);
    for (const tab of tabs) {
      await tab.untilSays(QUESTION, 'Once upon a time');
    }
    await last.stopButton(QUESTION).click();
    for (const tab of tabs) {
      await tab.answer(QUESTION).getByText('You stopped it.').waitFor();
      await tab.untilSays(QUESTION, 'Once upon a time');
    }
    await pieces.next();
    await model.requests.at(-1).reply.closed;
    await browser.untilHeld(1);
  });

browserTest('the tab that polls is closed, killed or put to sleep: another goes on',
  async (t, browser) => {
    const all = await stage(t, browser);
    const { model, page } = all;
    const words = Array.from({ length: 8 }, (_, i) => `word ${i} `);
    const pieces = inPieces(model, words);
    await page.say(QUESTION);
    const tabs = [page, ...await openTabs(browser, all, 3)];
    const says = async (count) => {
      for (const tab of tabs) {
        await tab.untilSays(QUESTION, words.slice(0, count).join('').trim());
      }
    };
    await says(1);
    await browser.untilHeld(1);
    const takeLeader = () => {
      const i = tabs.findIndex((tab) => tab.polls.size > 0);
      return tabs.splice(i, 1)[0];
    };
    const followed = async (before) => {
      await browser.untilHeld(1, tabs);
      return Date.now() - before;
    };

    // Closed while it holds the poll.
    const closed = takeLeader();
    await closed.tab.close();
    const afterClose = await followed(Date.now());
    await pieces.next();
    await says(2);

    // Killed: the process is gone at once.
    const killed = takeLeader();
    const crash = new Promise((resolve) => { killed.tab.on('crash', resolve); });
    killed.tab.goto('chrome://crash').catch(() => {});
    await crash;
    const afterKill = await followed(Date.now());
    await pieces.next();
    await says(3);

    // Put to sleep: it gives the lead up, and shows all of it when it is woken.
    // A browser without windows freezes no page, so only the event is told.
    const tell = (tab, type) => tab.tab.evaluate(
      (name) => document.dispatchEvent(new Event(name)), type);
    const asleep = takeLeader();
    await tell(asleep, 'freeze');
    const afterSleep = await followed(Date.now());
    await pieces.next();
    await pieces.next();
    await says(5);
    assert.equal(await asleep.prose(QUESTION).innerText(), words.slice(0, 3).join('').trim());
    await tell(asleep, 'resume');
    tabs.push(asleep);
    await says(5);

    // The one that comes into view polls from then on.
    assert.equal(asleep.polls.size, 0);
    await tell(asleep, 'visibilitychange');
    await browser.untilHeld(1, [asleep]);
    await browser.untilHeld(1, tabs);

    for (const count of [6, 7, 8]) {
      await pieces.next();
      await says(count);
    }
    await pieces.end();
    for (const tab of tabs) {
      await tab.untilAnswered(QUESTION);
      await tab.untilSays(QUESTION, words.join('').trim());
    }
    await browser.untilHeld(1, tabs);
    t.diagnostic(`taken over after ${afterClose}, ${afterKill}, ${afterSleep} ms`);
    for (const ms of [afterClose, afterKill, afterSleep]) {
      assert.ok(ms < 5000, `${ms} ms`); // of a busy machine; 1 s is meant
    }
  });

browserTest('A-8 D-4 everything is restarted under open pages, and they go on',
  async (t, browser) => {
    const all = await stage(t, browser);
    const { model, aside, page } = all;
    const pieces = inPieces(model, ['Before,', ' between,', ' after.']);
    await page.say('An old question');
    await page.untilSays('An old question', 'Before,');
    const [other] = await openTabs(browser, all, 1);
    await browser.untilHeld(1);
    page.mayFail = true;
    other.mayFail = true;

    for (const name of ['nginx', 'responder-1', 'responder-2']) {
      await aside.kill(name);
    }
    for (const tab of [page, other]) {
      await tab.notice.getByText('Reconnecting').waitFor();
    }
    await pieces.next(); // the answer goes on meanwhile
    for (const name of ['responder-1', 'responder-2', 'nginx']) {
      aside.launch(name);
    }
    await aside.ready();
    for (const tab of [page, other]) {
      await tab.untilSays('An old question', 'Before, between,');
      await tab.notice.getByText('Reconnecting').waitFor({ state: 'detached' });
    }
    await pieces.next();
    await pieces.end();
    await page.untilAnswered('An old question');

    // The runtime too; what is sent without a reload only adds.
    await aside.restart('asided');
    await other.say('A new question');
    for (const tab of [page, other]) {
      await tab.untilAnswered('A new question');
      await tab.untilSays('An old question', 'Before, between, after.');
      await tab.untilSays('A new question', 'A scripted answer.');
    }
    const { json } = await aside.api('GET', '/runs');
    assert.deepEqual(json.runs.map((run) => run.state), ['completed', 'completed']);
    assert.equal(model.requests.length, 2, 'nothing was asked again');
  });

browserTest('I-8 I-2 offline in mid-stream, then exactly the text of one who was not',
  async (t, browser) => {
    const all = await stage(t, browser);
    const { model, aside, person, page } = all;
    const witness = await browser.open(await browser.newPerson(), aside);
    const second = await browser.open(person, aside);
    const words = Array.from({ length: 12 }, (_, i) => `part **${i}**, `);
    const text = words.map((w) => w.replaceAll('*', '')).join('').trim();
    const pieces = inPieces(model, words);
    await page.say(QUESTION);
    await page.untilSays(QUESTION, 'part 0,');
    await witness.tab.goto(`${witness.tab.url().split('#')[0]}${page.hash}`);
    await second.tab.goto(`${second.tab.url().split('#')[0]}${page.hash}`);
    await second.untilSays(QUESTION, 'part 0,');
    await witness.untilSays(QUESTION, 'part 0,');

    for (const tab of [page, second]) {
      tab.mayFail = true;
    }
    await person.setOffline(true);
    for (const tab of [page, second]) {
      await tab.notice.getByText('Reconnecting').waitFor();
    }
    for (let i = 1; i < 6; i++) {
      await pieces.next();
    }
    await witness.until(witness.prose(QUESTION), ([s]) => s?.endsWith('part 5,'));
    // What is written meanwhile stays, with the reason.
    await page.composer.fill('Written without network');
    await page.composer.press('Enter');
    await page.tab.locator('.composer .refusal').waitFor();
    assert.equal(await page.composer.inputValue(), 'Written without network');

    await person.setOffline(false);
    for (const tab of [page, second]) {
      await tab.until(tab.prose(QUESTION), ([s]) => s?.endsWith('part 5,'));
      await tab.notice.getByText('Reconnecting').waitFor({ state: 'detached' });
    }
    // A reload at half of it changes nothing.
    await second.tab.reload();
    await second.until(second.prose(QUESTION), ([s]) => s?.endsWith('part 5,'));
    for (let i = 6; i < words.length; i++) {
      await pieces.next();
    }
    await pieces.end();
    for (const tab of [witness, page, second]) {
      await tab.untilSays(QUESTION, text);
      await tab.untilAnswered(QUESTION);
    }
    const html = await witness.prose(QUESTION).innerHTML();
    for (const tab of [page, second]) {
      await eventually(async () => await tab.prose(QUESTION).innerHTML() === html.replace(' live', ''));
      assert.deepEqual(await tab.messages(), await witness.messages());
    }
    await page.composer.press('Enter');
    await page.untilAnswered('Written without network');
  });

browserTest('without locks each tab polls for itself, and they stay in step',
  async (t, browser) => {
    const all = await stage(t, browser);
    const { aside } = all;
    const person = await browser.newPerson();
    await person.addInitScript(() => {
      Object.defineProperty(navigator, 'locks', { value: undefined });
    });
    const page = await browser.open(person, aside);
    await page.say('The first question');
    await page.untilAnswered('The first question');
    const [other] = await openTabs(browser, { person, aside, page }, 1);
    await browser.untilHeld(2, [page, other]);
    await other.say('The second question');
    await page.untilSays('The second question', 'A scripted answer.');
  });

browserTest('another database under open pages: all tabs drop what they had',
  async (t, browser) => {
    const all = await stage(t, browser);
    const { model, page } = all;
    await page.say('A question of before');
    await page.untilAnswered('A question of before');
    const [other] = await openTabs(browser, all, 1);
    await browser.untilHeld(1);
    // What a restored database answers: another feed, whatever was known.
    for (const tab of [page, other]) {
      await tab.rewrite(/\/api\/v1\/(changes|overview|conversations|runs)/,
        (json) => ('feed' in json ? { ...json, feed: `other ${json.feed}` } : json));
    }
    const reads = [page.requests(/^overview/), other.requests(/^overview/)];
    model.next('entry', (req, reply) => reply.answer('An answer of after.'));
    await page.say('A question of after');
    for (const tab of [page, other]) {
      await tab.untilSays('A question of before', 'A scripted answer.');
      await tab.untilSays('A question of after', 'An answer of after.');
      assert.equal(await tab.exchanges.count(), 2);
    }
    assert.deepEqual(reads.map((all) => all.length), [1, 1]);
  });

browserTest('a tab that cannot read anew lets another poll, and goes on when it can',
  async (t, browser) => {
    const all = await stage(t, browser);
    const { model, page } = all;
    await page.say('A question of before');
    await page.untilAnswered('A question of before');
    const [other] = await openTabs(browser, all, 1);
    await browser.untilHeld(1, [page]);
    page.mayFail = true;

    // It is told to read all again, and what it reads is refused.
    let isRefused = true;
    await page.tab.route(/\/api\/v1\/overview/, (route) => (isRefused
      ? route.fulfill({ status: 503, json: { status: 503, code: 'busy', title: 'Busy' } })
      : route.fallback()));
    let resets = 1;
    await page.rewrite(/\/changes\?/, (json) => ({ ...json, reset: (resets -= 1) >= 0 }));
    // The poll that is held already is not rewritten; the answer waits until
    // the next one is under way, or nothing would come to be told by that.
    const next = page.tab.waitForRequest(/\/changes\?/);
    const pieces = inPieces(model, ['A scripted', ' answer.']);
    await other.say('A question of after');
    await next;
    await pieces.next();
    await pieces.end();
    await browser.untilHeld(1, [other]);
    await page.notice.getByText('Busy').waitFor();
    await other.untilSays('A question of after', 'A scripted answer.');
    await other.notice.locator('.notice').waitFor({ state: 'detached' });

    isRefused = false;
    await page.untilSays('A question of after', 'A scripted answer.');
    await page.notice.locator('.notice').waitFor({ state: 'detached' });
  });

browserTest('a refused message stands in the tab that wrote it, then in the next one opened',
  async (t, browser) => {
    const all = await stage(t, browser);
    const { aside, person, page } = all;
    await page.say('A first word');
    await page.untilAnswered('A first word');
    const refuse = await page.hang(/messages$/);
    await page.say('One too many');
    await page.composer.fill('being written');
    refuse({ status: 429, json: { status: 429, code: 'short_capacity_full', title: 'Full' } });
    const refused = (tab) => tab.tab.locator('.exchange', { hasText: 'One too many' });
    const kept = refused(page).getByRole('button', { name: 'Try again' });
    await kept.waitFor();

    const [other] = await openTabs(browser, all, 1);
    await other.tab.waitForLoadState('networkidle', { timeout: 1000 }).catch(() => {});
    assert.equal(await refused(other).count(), 0, 'the tab that wrote it lives');
    await page.tab.reload();
    await kept.waitFor();
    assert.equal(await refused(other).count(), 0);

    const { hash } = page;
    await page.tab.close();
    const third = await browser.open(person, aside, hash);
    await refused(third).waitFor();
    assert.equal(await refused(other).count(), 0);
    await refused(third).getByRole('button', { name: 'Try again' }).click();
    for (const tab of [third, other]) {
      await tab.untilSays('One too many', 'A scripted answer.');
      assert.equal(await refused(tab).count(), 1);
    }
  });

browserTest('a tab opened while another makes its first conversation stays where it is',
  async (t, browser) => {
    const { aside, person, page } = await stage(t, browser);
    const making = await page.hold(/\/conversations$/, 1);
    await page.composer.fill('A first word');
    await page.composer.press('Enter');
    await making.held;
    const other = await browser.open(person, aside);
    const made = other.requests(/^conversations/);
    await other.tab.getByText('What would you like to know?').waitFor();
    await other.row('A first word').waitFor(); // the server has made it
    making.release();
    await page.untilSays('A first word', 'A scripted answer.');
    await other.tab.locator('.row').first().waitFor();
    assert.equal(other.hash, '');
    assert.equal(await other.exchanges.count(), 0);
    assert.deepEqual(made, [], 'and sends nothing of the other one');
  });
