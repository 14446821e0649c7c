// browser.mjs - headless Chromium, started once for the tests of a file, and
// the persons that use it.

import path from 'node:path';
import { after, test } from 'node:test';

import { chromium } from 'playwright-core';

import { BUILD, eventually, startAside } from '../support/harness.mjs';
import { ScriptedModel } from '../support/scripted-model.mjs';
import { Page } from './page.mjs';

/** Chromium without its own windows, which take as much time as all pages. */
const CHROMIUM = process.env.CHROMIUM ?? '/usr/bin/chromium-headless-shell';

const FLAGS = [
  '--headless', '--no-sandbox', '--disable-gpu', '--disable-quic',
  '--no-first-run', '--disable-background-networking',
  '--disable-component-update', '--disable-sync',
];

/** Ends what hangs; what is meant to be quick says so itself. */
const BOUND_MS = 300000;

const WIDE = { width: 1360, height: 860 };

/** One for all tests of this process. */
let launched = null;

function launch() {
  launched ??= chromium.launch({
    executablePath: CHROMIUM, args: FLAGS,
  });
  return launched;
}

after(async () => (await launched)?.close());

/**
 * A test in a browser that remembers nothing of others. If it fails, what its
 * pages show is kept as failed-<n>.png, and what they logged is told.
 * @param {string} name
 * @param {(t: import('node:test').TestContext, browser: Browser) =>
 *     Promise<void>} body
 */
export function browserTest(name, body) {
  test(name, { timeout: BOUND_MS }, async (t) => {
    const browser = new Browser(await launch());
    t.after(() => browser.close());
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

/**
 * An Aside over a scripted model, and a person with its page open.
 * @param {import('node:test').TestContext} t
 * @param {Browser} browser
 * @param {object} [conf] of Aside
 */
export async function stage(t, browser, conf = {}) {
  const model = await ScriptedModel.start({ t });
  const aside = await startAside({
    t, model, conf, san: false, static: path.join(BUILD, 'static'),
  });
  const person = await browser.newPerson();
  const page = await browser.open(person, aside);
  return { model, aside, person, page };
}

class Browser {
  constructor(instance) {
    this.chromium = instance;
    this.persons = [];
    this.pages = [];
  }

  /**
   * One person: what the browser keeps for them outlives their pages.
   * @param {object} [options] viewport, locale, colorScheme
   */
  async newPerson(options = {}) {
    const person = await this.chromium.newContext({
      viewport: WIDE, locale: 'en-GB', colorScheme: 'light',
      reducedMotion: 'reduce', ...options,
    });
    this.persons.push(person);
    return person;
  }

  /**
   * @param {import('playwright-core').BrowserContext} person
   * @param {{port: number, prefix: string}} aside
   * @param {string} [hash] what the address names
   * @param {(page: Page) => Promise<void>} [before] the page is loaded
   */
  async open(person, aside, hash = '', before = async () => {}) {
    const page = new Page(await person.newPage(), aside);
    this.pages.push(page);
    await before(page);
    await page.tab.goto(`${page.origin}${aside.prefix}/${hash}`);
    return page;
  }

  /** Wait until so many polls are held by all pages together. */
  async untilHeld(count, pages = this.pages) {
    const held = () => pages.reduce((sum, page) => sum + page.polls.size, 0);
    await eventually(() => held() === count, { what: `${count} polls are held` });
  }

  async close() {
    for (const person of this.persons) {
      await person.close();
    }
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
