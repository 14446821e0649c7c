// notify.test.mjs - the browser's own word when a research ends: only if nobody
// looks at any tab, and as it was last asked for in whichever tab.

import assert from 'node:assert/strict';

import { browserTest, stage } from './browser.mjs';

/** A page that can be hidden, and keeps what the browser would show. */
const WATCHED = () => {
  globalThis.shown = [];
  globalThis.Notification = class {
    static permission = 'granted';
    static requestPermission = async () => 'granted';
    constructor(title, { tag }) {
      globalThis.shown.push(`${title} ${tag}`);
    }
  };
  let state = 'visible';
  Object.defineProperty(document, 'visibilityState', { get: () => state });
  globalThis.look = (next) => {
    state = next;
    document.dispatchEvent(new Event('visibilitychange'));
  };
};

const look = (page, state) => page.tab.evaluate((s) => globalThis.look(s), state);
const shown = (page) => page.tab.evaluate(() => globalThis.shown);

/** How many tabs are looked at, as the browser itself knows. */
const untilSeen = (page, count) => page.tab.waitForFunction(async (n) =>
  (await navigator.locks.query()).held.filter(({ name }) => name.endsWith('seen')).length === n,
count);

/** A research that has come to its end on all pages. */
async function research(page, others, question) {
  await page.choose('Background');
  await page.say(question);
  for (const one of [page, ...others]) {
    await one.answer(question).getByText('A scripted report.').waitFor();
  }
}

browserTest('R32 a hidden tab says nothing while another tab is looked at',
  async (t, browser) => {
    const { aside, model, person, page: opener } = await stage(t, browser, { 'policy.note': 'ask' });
    await opener.tab.close();
    const withTools = ({ tab }) => tab.addInitScript(WATCHED);
    const page = await browser.open(person, aside, '', withTools);
    await page.say('A first word');
    const other = await browser.open(person, aside, await page.address(), withTools);
    await other.exchange('A first word').waitFor();

    // It is asked for in one tab, and known in the other.
    await other.openPanel();
    await other.tab.getByText('Stop notifying me').waitFor({ state: 'detached' });
    await page.openPanel();
    await page.tab.locator('.panel-foot button').click();
    await other.tab.locator('.panel-foot button[aria-pressed=true]').waitFor();

    await look(other, 'hidden');
    await untilSeen(page, 1);
    await research(page, [other], 'Look into what is seen');

    await look(page, 'hidden');
    await untilSeen(page, 0);
    await research(page, [other], 'Look into what is not seen');
    for (const one of [page, other]) {
      await one.tab.waitForFunction(() => globalThis.shown.length > 0);
      const all = await shown(one);
      assert.equal(all.length, 1, `${all}`);
      assert.match(all[0], /^Look into what is not seen aside-run_\d+$/);
    }

    // What waits for the person is told as well, each time anew, by one tag in all tabs.
    const note = (text) => (req, reply) => reply.call(['note', { text }]);
    model.next('research', note('one'));
    model.next('research', note('two'));
    await page.tab.getByRole('button', { name: 'New conversation' }).first().click();
    await page.choose('Background');
    await page.say('Look into what is to be allowed');
    const told = (n) => Promise.all([page, other].map((one) =>
      one.tab.waitForFunction((k) => globalThis.shown.length === k, n)));
    await told(2);
    const allow = page.answer('Look into what is to be allowed').getByRole('button', { name: 'Allow once' });
    await allow.click();
    await told(3);
    await allow.click();
    await told(4);
    const [mine, theirs] = [await shown(page), await shown(other)];
    assert.deepEqual(mine, theirs);
    assert.match(mine[1], /^Look into what is to be allowed aside-run_\d+-appr_1$/);
    assert.match(mine[2], / aside-run_\d+-appr_2$/);
    assert.match(mine[3], / aside-run_\d+$/);
  });
