// browser.mjs - headless Chromium, and a page of Aside that is watched: what
// it logs, what it asks of whom.

import assert from 'node:assert/strict';
import { mkdirSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';

import { chromium } from 'playwright-core';

import { ROOT } from '../support/harness.mjs';

const SHOTS = path.join(ROOT, 'var/screenshots');
const STEP_MS = 15000;

const FLAGS = [
  '--headless', '--no-sandbox', '--disable-gpu', '--disable-quic',
  '--no-first-run', '--disable-background-networking',
  '--disable-component-update', '--disable-sync',
];

const WIDE = { width: 1360, height: 860 };
const PHONE = { width: 390, height: 844 };

/**
 * A test with a browser of its own. If it fails, what its pages show is kept
 * as failed-<n>.png, and what they logged is told.
 * @param {string} name
 * @param {number} ms
 * @param {(t: import('node:test').TestContext, browser: Browser) =>
 *     Promise<void>} body
 */
export function browserTest(name, ms, body) {
  test(name, { timeout: ms }, async (t) => {
    const browser = new Browser(await chromium.launch({
      executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', args: FLAGS,
    }));
    t.after(() => browser.chromium.close());
    try {
      await body(t, browser);
    } catch (error) {
      error.message += `\n${await browser.lastSeen()}`;
      throw error;
    }
    for (const page of browser.pages) {
      page.assertQuiet();
    }
  });
}

class Browser {
  constructor(instance) {
    this.chromium = instance;
    this.pages = [];
  }

  /**
   * One person: what the browser keeps for them outlives their pages.
   * @param {object} [options] viewport, locale, colorScheme
   */
  newPerson(options = {}) {
    return this.chromium.newContext({
      viewport: WIDE, locale: 'en-GB', colorScheme: 'light',
      reducedMotion: 'reduce', ...options,
    });
  }

  /**
   * @param {import('playwright-core').BrowserContext} person
   * @param {{port: number, prefix: string}} aside
   * @param {string} [hash] what the address names
   */
  async open(person, aside, hash = '') {
    const page = new Page(await person.newPage(), aside);
    this.pages.push(page);
    await page.tab.goto(`${page.origin}${aside.prefix}/${hash}`);
    return page;
  }

  /** What the pages that are still open look like; told and kept. */
  async lastSeen() {
    const lines = [];
    for (const [i, page] of this.pages.entries()) {
      if (!page.tab.isClosed()) {
        await page.picture(`failed-${i + 1}`).catch(() => {});
        lines.push(`page ${i + 1} is at ${page.tab.url()}, see var/screenshots/failed-${i + 1}.png`);
      }
      lines.push(...page.faults);
    }
    return lines.join('\n');
  }
}

/** A page of Aside, and what a test wants to see and do on it. */
class Page {
  constructor(tab, aside) {
    this.tab = tab;
    this.origin = `http://127.0.0.1:${aside.port}`;
    this.faults = [];
    tab.setDefaultTimeout(STEP_MS);
    tab.on('pageerror', (error) => this.faults.push(`error: ${error.stack}`));
    tab.on('console', (message) => this.heard(message));
    tab.on('request', (request) => {
      if (!/^(data|blob):/.test(request.url()) &&
          new URL(request.url()).origin !== this.origin) {
        this.faults.push(`asked another host: ${request.url()}`);
      }
    });
  }

  heard(message) {
    // Chromium logs every refusal by itself; the page's answer to it is what
    // tests look at.
    const refused = /^Failed to load resource: .* status of 4(04|29) /;
    if (['error', 'warning'].includes(message.type()) && !refused.test(message.text())) {
      this.faults.push(`${message.type()}: ${message.text()} (${message.location().url})`);
    }
  }

  /** Nothing went wrong that only a developer would see. */
  assertQuiet() {
    assert.deepEqual(this.faults, []);
  }

  get composer() {
    return this.tab.getByLabel('Message', { exact: true });
  }

  get background() {
    return this.tab.locator('#background');
  }

  /** The exchange of the question that begins so. */
  exchange(question) {
    return this.tab.locator('article.exchange')
      .filter({ has: this.tab.locator('.question', { hasText: question }) });
  }

  answer(question) {
    return this.exchange(question).locator('.answer');
  }

  card(title) {
    return this.tab.locator('#panel article.card', { hasText: title });
  }

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

  /**
   * Keep news of the feed from the page, to see what it shows before them.
   * Resolves, when the page depends on this, to what lets them in again.
   */
  async holdNews() {
    let isOpen = false;
    let open;
    let depend;
    const opened = new Promise((resolve) => {
      open = () => {
        isOpen = true;
        resolve();
      };
    });
    const held = new Promise((resolve) => { depend = resolve; });
    await this.tab.route('**/api/v1/changes?*', async (route) => {
      if (isOpen) {
        await route.continue();
        return;
      }
      depend();
      const response = await route.fetch();
      await opened;
      await route.fulfill({ response });
    });
    await held;
    return open;
  }

  async openPanel() {
    if (await this.background.getAttribute('aria-expanded') !== 'true') {
      await this.background.click();
    }
    await this.tab.locator('#panel .panel-body').waitFor();
  }

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
      await locator.page().evaluate(() => new Promise(requestAnimationFrame));
    }
  }

  /** One picture for whoever looks after the page. */
  async picture(name) {
    mkdirSync(SHOTS, { recursive: true });
    await this.tab.screenshot({ path: path.join(SHOTS, `${name}.png`) });
  }

  /** What is to be seen now, light, dark, and on a phone. */
  async pictures(name) {
    const before = this.tab.viewportSize();
    await this.picture(`${name}-light`);
    await this.tab.emulateMedia({ colorScheme: 'dark' });
    await this.picture(`${name}-dark`);
    await this.tab.setViewportSize(PHONE);
    await this.picture(`${name}-phone-dark`);
    await this.tab.emulateMedia({ colorScheme: 'light' });
    await this.picture(`${name}-phone`);
    await this.tab.setViewportSize(before);
  }
}
