// page.mjs - a page of Aside that is watched: what it logs, what it asks of
// whom; and what a test wants to see and do on it.

import assert from 'node:assert/strict';
import { mkdirSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import path from 'node:path';

import { ROOT } from '../support/harness.mjs';

const SHOTS = path.join(ROOT, 'var/screenshots');
const STEP_MS = 60000; // ends a hang; what is meant to be quick says so itself

export const PHONE = { width: 390, height: 844 };

/** Chromium logs every refusal by itself; the page's answer to it is what
 *  tests look at. */
const REFUSED = /^Failed to load resource: .* status of 4(01|03|04|09|13|29) /;

/** The same for a server that is not there. */
const OUTAGE = /^Failed to load resource: (net::ERR_|.* status of 50[234] )/;

const POLL = /\/api\/v1\/changes\?/;

const AXE_TAGS = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'];
const AXE_COLOURS = ['color-contrast', 'link-in-text-block'];

/** In the page: resolves when it changes, or after ms. */
function changed(ms) {
  return new Promise((resolve) => {
    const end = () => {
      observer.disconnect();
      clearTimeout(timer);
      resolve(undefined);
    };
    const observer = new MutationObserver(end);
    const timer = setTimeout(end, ms);
    observer.observe(document, {
      subtree: true, childList: true, characterData: true, attributes: true,
    });
  });
}

export class Page {
  constructor(tab, aside) {
    this.tab = tab;
    this.origin = `http://127.0.0.1:${aside.port}`;
    this.faults = [];
    this.mayFail = false;
    this.polls = new Set(); // under way, those that the server may hold
    tab.setDefaultTimeout(STEP_MS);
    tab.on('pageerror', (error) => this.faults.push(`error: ${error.stack}`));
    tab.on('console', (message) => this.heard(message));
    tab.on('request', (request) => this.asked(request));
    for (const end of ['requestfinished', 'requestfailed']) {
      tab.on(end, (request) => this.polls.delete(request));
    }
    tab.on('crash', () => this.polls.clear());
    tab.on('close', () => this.polls.clear());
  }

  asked(request) {
    const url = request.url();
    if (POLL.test(url) && !/wait=0$/.test(url)) {
      this.polls.add(request);
    }
    if (!/^(data|blob):/.test(url) && new URL(url).origin !== this.origin) {
      this.faults.push(`asked another host: ${url}`);
    }
  }

  heard(message) {
    const text = message.text();
    if (['error', 'warning'].includes(message.type()) && !REFUSED.test(text) &&
        !(this.mayFail && OUTAGE.test(text))) {
      this.faults.push(`${message.type()}: ${text} (${message.location().url})`);
    }
  }

  /** Nothing went wrong that only a developer would see. */
  assertQuiet() {
    assert.deepEqual(this.faults, []);
  }

  // --- what is there ----------------------------------------------------------

  get composer() {
    return this.tab.getByLabel('Message', { exact: true });
  }

  get background() {
    return this.tab.locator('#background');
  }

  get notice() {
    return this.tab.locator('.notices');
  }

  get exchanges() {
    return this.tab.locator('article.exchange');
  }

  /** The exchange of the question that begins so. */
  exchange(question) {
    return this.exchanges
      .filter({ has: this.tab.locator('.question', { hasText: question }) });
  }

  answer(question) {
    return this.exchange(question).locator('.answer');
  }

  /** Its text, as it grows. */
  prose(question) {
    return this.answer(question).locator('.prose');
  }

  stopButton(question) {
    return this.answer(question).getByRole('button', { name: 'Stop', exact: true });
  }

  card(title) {
    return this.tab.locator('#panel article.card', { hasText: title });
  }

  adjustBox(title) {
    return this.card(title).getByLabel('Add or change a requirement of this research');
  }

  /** A conversation in the list. */
  row(title) {
    return this.tab.locator('.row-open', { hasText: title });
  }

  get hash() {
    return new URL(this.tab.url()).hash;
  }

  /** The same once there is one: a first message is shown before it has a
   *  conversation. */
  async address() {
    await this.tab.waitForFunction(() => location.hash !== '');
    return this.hash;
  }

  /** The ids of the messages that are shown, in their order. */
  messages() {
    return this.exchanges.evaluateAll((all) => all.map((e) => e.dataset.message));
  }

  // --- what a person does -------------------------------------------------------

  /** Type a message and send it, as a person does. */
  async say(text) {
    await this.composer.fill(text);
    await this.composer.press('Enter');
    await this.exchange(text).waitFor();
  }

  /** How the next messages are answered. */
  async choose(mode) {
    await this.tab.locator('.mode').getByText(mode, { exact: true }).click();
    await this.tab.locator('.mode.chosen').getByText(mode, { exact: true }).waitFor();
  }

  async openPanel() {
    if (await this.background.getAttribute('aria-expanded') !== 'true') {
      await this.background.click();
    }
    await this.tab.locator('#panel .panel-body').waitFor();
  }

  async newConversation() {
    await this.tab.getByRole('button', { name: 'New conversation' }).click();
    await this.tab.getByText('What would you like to know?').waitFor();
  }

  // --- the network between ---------------------------------------------------------

  /**
   * Keep what comes back from the page, from now on. Resolves, when the page
   * depends on this, to what lets it in: release() all, in their order.
   * @param {RegExp} pattern
   * @param {number} [times] so many only
   */
  async hold(pattern, times = Infinity) {
    let isOpen = false;
    let open;
    let depend;
    let left = times;
    const opened = new Promise((resolve) => {
      open = () => {
        isOpen = true;
        resolve();
      };
    });
    const held = new Promise((resolve) => { depend = resolve; });
    await this.tab.route(pattern, async (route) => {
      if (isOpen || left <= 0) {
        await route.fallback();
        return;
      }
      left -= 1;
      depend();
      try {
        const response = await route.fetch({ timeout: 0 });
        await opened;
        await route.fulfill({ response });
      } catch {
        // The page gave it up meanwhile.
      }
    });
    return { held, release: open };
  }

  /**
   * Keep the next request from the server, as a network that hangs does.
   * Resolves to what lets it go, by fulfilling it or on to the server.
   */
  async hang(pattern) {
    let open;
    const opened = new Promise((resolve) => { open = resolve; });
    await this.tab.route(pattern, async (route) => {
      const answer = await opened;
      await (answer ? route.fulfill(answer) : route.fallback());
    }, { times: 1 });
    return open;
  }

  /** Keep news of the feed from the page: see hold(). */
  async holdNews() {
    const { held, release } = await this.hold(POLL);
    await held;
    return release;
  }

  /**
   * Change what comes back.
   * @param {RegExp} pattern
   * @param {(json: any) => any} change to what is handed to the page
   */
  rewrite(pattern, change) {
    return this.tab.route(pattern, async (route) => {
      try {
        const response = await route.fetch({ timeout: 0 });
        const json = change(await response.json());
        await route.fulfill({ response, json });
      } catch {
        // The page gave it up meanwhile.
      }
    });
  }

  /** The paths below /api/v1 that the page asks for, from now on. */
  requests(pattern) {
    const all = [];
    this.tab.on('request', (request) => {
      const [, where] = request.url().split('/api/v1/');
      if (where && pattern.test(where)) {
        all.push(`${request.method()} ${where}`);
      }
    });
    return all;
  }

  // --- waiting and looking ------------------------------------------------------------

  /** Wait until a test on the locator's elements holds. */
  async until(locator, test, what = test.toString(), ms = STEP_MS) {
    const deadline = Date.now() + ms;
    for (;;) {
      const text = await locator.allInnerTexts();
      if (test(text)) {
        return text;
      }
      if (Date.now() > deadline) {
        throw new Error(`not within ${ms} ms: ${what}; it says ${JSON.stringify(text)}`);
      }
      await locator.page().evaluate(changed, 100);
    }
  }

  /** Wait until an answer is this, and no other text. */
  async untilSays(question, text) {
    await this.until(this.prose(question), ([s]) => s === text,
      `the answer is ${JSON.stringify(text)}`);
  }

  /** Wait until the answer of a question has come to its end. */
  async untilAnswered(question) {
    await this.answer(question).locator('.prose, .failure').first().waitFor();
    await this.stopButton(question).waitFor({ state: 'detached' });
  }

  /**
   * The state of the page has no fault that axe-core knows.
   * @param {string} what
   * @param {string[]} [rules] tags, or the rules that other colours can break
   */
  async assertAccessible(what, rules = AXE_TAGS) {
    const source = await readFile(path.join(ROOT, 'node_modules/axe-core/axe.min.js'), 'utf8');
    await this.tab.evaluate(source);
    const { violations } = await this.tab.evaluate((runOnly) => globalThis.axe.run(document, {
      runOnly, resultTypes: ['violations'],
    }), rules);
    assert.deepEqual(violations.map(({ id, help, nodes }) => `${id}: ${help}: ${
      nodes.map((node) => node.html).join(' ')}`), [], what);
  }

  /** Nothing stands out of the box it belongs to, nor of the page. */
  async assertInside(what) {
    const out = await this.tab.evaluate((boxes) => {
      const seen = (e) => e.getClientRects().length > 0 && e.offsetWidth !== 1;
      const found = [document.documentElement].filter((e) => e.scrollWidth > innerWidth);
      for (const box of document.querySelectorAll(boxes)) {
        const { left, right } = box.getBoundingClientRect();
        for (const e of box.querySelectorAll('*')) {
          const rect = e.getBoundingClientRect();
          const isClipped = e.closest('pre, .table, .calls, .sources, .sr, .icon') !== null;
          if (!isClipped && seen(e) && (rect.left < left - 1 || rect.right > right + 1)) {
            found.push(e);
          }
        }
      }
      return found.map((e) => `${e.tagName} ${e.className}: ${e.textContent.slice(0, 40)}`);
    }, '.card, .exchange, .composer, .row, .topbar, .notices');
    assert.deepEqual(out, [], what);
  }

  /** One picture for whoever looks after the page. */
  async picture(name) {
    mkdirSync(SHOTS, { recursive: true });
    await this.tab.screenshot({ path: path.join(SHOTS, `${name}.png`) });
  }

  /** What is to be seen now, light, dark, and on a phone; and that everyone can
   *  read it. */
  async pictures(name) {
    const before = this.tab.viewportSize();
    const looks = [
      ['light', { colorScheme: 'light' }, before],
      ['dark', { colorScheme: 'dark' }, before],
      ['phone', { colorScheme: 'light' }, PHONE],
    ];
    for (const [look, media, size] of looks) {
      await this.tab.emulateMedia(media);
      await this.tab.setViewportSize(size);
      await this.picture(`${name}-${look}`);
      await this.assertInside(`${name}-${look}`);
      if (size === before) {
        await this.assertAccessible(`${name}-${look}`,
          look === 'light' ? AXE_TAGS : AXE_COLOURS);
      }
    }
    await this.tab.setViewportSize(before);
  }
}
