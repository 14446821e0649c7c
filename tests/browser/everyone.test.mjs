// everyone.test.mjs - the page for those who write from right to left, who use
// no mouse, who hear it, who need it large or plain, or who type Chinese.

import assert from 'node:assert/strict';

import { shelf } from '../support/started.mjs';
import { browserTest, stage } from './browser.mjs';

/** What has the focus, and whether one can see that it has. */
const focus = (page) => page.tab.evaluate(() => {
  const e = document.activeElement;
  // The message field shows it at the box around it, a choice at its name.
  const shows = e.closest('.composer-box') && e.matches('textarea') ? e.closest('.composer-box')
    : e.matches('input[type=radio]') ? e.closest('label') : e;
  const style = getComputedStyle(shows);
  const isBox = shows !== e && e.matches('textarea');
  const box = shows.getBoundingClientRect();
  return {
    name: `${e.tagName.toLowerCase()}.${e.className} ${e.getAttribute('aria-label') ?? e.innerText?.slice(0, 30) ?? ''}`,
    isLost: e === document.body || e === document.documentElement,
    // A place that was brought into view is no control: it needs no ring.
    isSeen: e.getAttribute('tabindex') === '-1'
      || (box.width > 1 && box.height > 1 && (isBox ? style.borderColor !== 'rgb(226, 223, 215)'
        : style.outlineStyle !== 'none' && style.outlineWidth !== '0px')),
  };
});

async function assertFocus(page, what) {
  const now = await focus(page);
  assert.ok(!now.isLost, `${what}: the focus is lost`);
  assert.ok(now.isSeen, `${what}: nothing shows the focus at ${now.name}`);
}

/** Press Tab until the focus is there; it is to be seen all the way. */
async function tabTo(page, locator, key = 'Tab') {
  for (let i = 0; i < 60; i++) {
    if (await locator.first().evaluate((e) => e === document.activeElement).catch(() => false)) {
      return;
    }
    await page.tab.keyboard.press(key);
    await assertFocus(page, `${key} ${i + 1}`);
  }
  assert.fail(`not reached by ${key}: ${locator}; at ${(await focus(page)).name}`);
}

/** Wait until the focus is within. */
const untilFocus = (page, selector) => page.tab.waitForFunction((s) =>
  document.activeElement?.closest(s) !== null, selector);

browserTest('a whole session with the keyboard alone; the focus is seen and never lost',
  async (t, browser) => {
    const { model, page } = await stage(t, browser, { library: await shelf(t) });
    const { tab } = page;
    const keys = tab.keyboard;
    await page.composer.waitFor();

    // Past the list to the message field.
    await keys.press('Tab');
    await keys.press('Enter');
    await untilFocus(page, '.composer textarea');
    await keys.type('A first question');
    await keys.press('Enter');
    await page.untilAnswered('A first question');
    await assertFocus(page, 'sent');

    // A research, chosen by the arrows.
    model.next('research', (req, reply) => reply.call(['library_search', { query: 'tides' }]));
    model.next('research', async (req, reply) => {
      reply.text('I look.');
      await reply.hold('looking');
    });
    await tabTo(page, tab.locator('.mode input:checked'));
    await keys.press('ArrowRight');
    await page.tab.locator('.mode.chosen').getByText('Background', { exact: true }).waitFor();
    await assertFocus(page, 'chosen');
    await keys.press('Shift+Tab');
    await untilFocus(page, '.composer textarea');
    await keys.type('Look into tides');
    await keys.press('Enter');
    await model.held('looking');

    // The panel; an adjustment; a stop, whose button goes away.
    await tabTo(page, page.background, 'Shift+Tab');
    await keys.press('Enter');
    await untilFocus(page, '#panel');
    await tabTo(page, page.adjustBox('Look into tides'));
    model.next('research', async (req, reply) => {
      reply.text('I look at salt too.');
      await reply.hold('salt');
    });
    await keys.type('and salt');
    await keys.press('Enter');
    await page.card('Look into tides').getByText('Handed to the research model').waitFor();
    await page.until(tab.locator('.aloud'), ([s]) => /Handed to the research model/.test(s));
    await assertFocus(page, 'adjusted');
    await tabTo(page, page.card('Look into tides').getByRole('button', { name: 'Stop research' }));
    await keys.press('Enter');
    await page.card('Look into tides').getByText('You stopped it.').waitFor();
    await assertFocus(page, 'stopped');
    await untilFocus(page, '.card');

    // Going on from it, to a report that cites.
    model.next('research', (req, reply) => reply.call(['library_search', { query: 'tides' }]));
    model.next('research', (req, reply) => reply.report('The moon pulls [1]. And [the sun](https://example.org/).'));
    await tabTo(page, page.card('Look into tides').getByLabel('Go on from here in a new research'));
    await keys.type('now the ebb');
    await keys.press('Enter');
    const answer = page.answer('now the ebb');
    await answer.getByText('The moon pulls').waitFor();
    await assertFocus(page, 'continued');

    // Closed by a key, the panel gives the focus back.
    await keys.press('Escape');
    await untilFocus(page, '#background');
    await tabTo(page, answer.locator('.cite'));
    await tab.locator('.passage').waitFor();
    await keys.press('Escape');
    await tab.locator('.passage').waitFor({ state: 'detached' });
    await assertFocus(page, 'a citation');

    // The dialog gives the focus back, too, or leads to what was found.
    await keys.press('Control+k');
    await untilFocus(page, '.find');
    await keys.press('Tab');
    await keys.press('Enter');
    await tab.getByRole('dialog').waitFor({ state: 'detached' });
    await untilFocus(page, '.cite');
    await keys.press('Control+k');
    await untilFocus(page, '.find');
    await keys.type('moon pulls');
    await tab.locator('.hit', { hasText: 'Report' }).waitFor();
    await tabTo(page, tab.locator('.hit', { hasText: 'Report' }));
    await keys.press('Enter');
    await untilFocus(page, 'article.exchange');

    // A conversation is named, kept, and deleted.
    await tabTo(page, tab.locator('.rename-open'), 'Shift+Tab');
    await keys.press('Enter');
    await untilFocus(page, '.rename input');
    await keys.type('Of the sea');
    await keys.press('Enter');
    await page.row('Of the sea').waitFor();
    await untilFocus(page, '.rename-open');
    await tabTo(page, tab.locator('.delete-open'));
    await keys.press('Enter');
    await untilFocus(page, '.row-sure');
    await keys.press('Enter'); // what was not meant is not done
    await untilFocus(page, '.delete-open');
    await keys.press('Enter');
    await untilFocus(page, '.row-sure');
    await keys.press('Shift+Tab');
    await untilFocus(page, '.danger');
    await keys.press('Enter');
    await page.row('Of the sea').waitFor({ state: 'detached' });
    await untilFocus(page, '.list');
    await assertFocus(page, 'deleted');
  });

browserTest('receipts and completions are said once, politely, however they come',
  async (t, browser) => {
    const { model, page } = await stage(t, browser);
    const region = page.tab.locator('.aloud');
    await region.waitFor({ state: 'attached' });
    await page.tab.evaluate(() => {
      globalThis.said = [];
      const region = document.querySelector('.aloud');
      new MutationObserver((all) => all.forEach(({ addedNodes }) =>
        addedNodes.forEach((n) => n.textContent.trim() && globalThis.said.push(n.textContent))))
        .observe(region, { childList: true });
    });
    assert.equal(await region.getAttribute('aria-live'), 'polite');
    model.next('research', async (req, reply) => {
      reply.text('I look.');
      await reply.hold('first');
    });
    model.next('research', async (req, reply) => {
      await reply.head().hold('second');
      reply.report('# Found');
    });
    await page.choose('Background');
    await page.say('Look into it');
    await model.held('first');
    await page.openPanel();
    await page.adjustBox('Look into it').fill('and that');
    await page.adjustBox('Look into it').press('Enter');
    (await model.held('second')).release();
    await page.answer('Look into it').getByText('Found').waitFor();
    await page.until(region, ([s]) => /Completed|Incomplete/.test(s));
    const said = (await page.tab.evaluate(() => globalThis.said)).join(' ');
    for (const word of ['Received', 'Handed to the research model', 'Look into it: (Completed|Incomplete)']) {
      assert.equal((said.match(new RegExp(word, 'g')) ?? []).length, 1, `${word}: ${said}`);
    }
  });

const HEBREW = 'מה שלום הים? ראו `code` כאן';
const RTL_ANSWER = `שלום **עולם**, ראו \`x = 1\`.

* פריט ראשון
* פריט שני

> ציטוט מן המקור

| עמודה | שנייה |
|-------|-------|
| אחת   | שתיים |

An English paragraph between.

1. English item

\`\`\`
code stays
\`\`\`
`;

browserTest('what is written from right to left is shown so, and code is not',
  async (t, browser) => {
    const { model, page } = await stage(t, browser);
    model.next('entry', (req, reply) => reply.answer(RTL_ANSWER));
    await page.say(HEBREW);
    const prose = page.prose(HEBREW);
    // What formats it may come after its text.
    await page.untilAnswered(HEBREW);
    await page.answer(HEBREW).locator('.prose:not(.plain)').waitFor();
    const directions = await prose.evaluate((e) => Object.fromEntries(
      ['p', 'ul', 'blockquote', 'table', 'ol', 'pre', 'code'].map((tag) =>
        [tag, getComputedStyle(e.querySelector(tag)).direction])));
    assert.deepEqual(directions, { p: 'rtl', ul: 'rtl', blockquote: 'rtl', table: 'rtl',
      ol: 'ltr', pre: 'ltr', code: 'ltr' });
    assert.equal(await prose.locator('p', { hasText: 'An English' })
      .evaluate((e) => getComputedStyle(e).direction), 'ltr');
    for (const place of ['.question-body', '.row-title', '.topbar-title']) {
      assert.equal(await page.tab.locator(place, { hasText: 'שלום' })
        .evaluate((e) => getComputedStyle(e).direction), 'rtl', place);
    }
    await page.composer.fill('مرحبا');
    assert.equal(await page.composer.evaluate((e) => getComputedStyle(e).direction), 'rtl');
    await page.composer.fill('');

    await page.choose('Background');
    model.next('research', (req, reply) => reply.report('# דוח\n\nשלום עולם.'));
    await page.say('חקור את הים');
    await page.answer('חקור את הים').getByText('שלום עולם').waitFor();
    await page.openPanel();
    await page.card('חקור את הים').waitFor();
    await page.pictures('40-right-to-left');
    // A page whose own texts run so would still hold together.
    await page.tab.evaluate(() => { document.documentElement.dir = 'rtl'; });
    await page.assertInside('the page from right to left');
    await page.picture('41-mirrored');
  });

browserTest('nothing moves where that is not wanted; lines where colours are few',
  async (t, browser) => {
    const { model, page } = await stage(t, browser);
    model.next('research', async (req, reply) => {
      reply.text('I look.');
      await reply.hold('looking');
      reply.report('# Found');
    });
    await page.choose('Background');
    await page.say('Look into it');
    const held = await model.held('looking');
    await page.openPanel();
    await page.card('Look into it').locator('.dot.running').waitFor();
    const moving = () => page.tab.evaluate(() => document.getAnimations().length);
    await page.tab.emulateMedia({ reducedMotion: 'no-preference' });
    assert.ok(await moving() > 0, 'the dot of what runs breathes');
    await page.tab.emulateMedia({ reducedMotion: 'reduce' });
    assert.equal(await moving(), 0);

    await page.tab.emulateMedia({ contrast: 'more' });
    await page.assertAccessible('more contrast');
    await page.picture('42-contrast');
    await page.tab.emulateMedia({ contrast: 'no-preference', forcedColors: 'active' });
    const lines = await page.tab.evaluate(() => ['.question', '.send', '.meter-bar']
      .filter((s) => parseFloat(getComputedStyle(document.querySelector(s)).borderTopWidth) < 1));
    assert.deepEqual(lines, []);
    assert.notEqual(await page.tab.locator('.mode.chosen')
      .evaluate((e) => getComputedStyle(e).outlineStyle), 'none');
    await page.picture('43-forced-colors');
    held.release();
  });

browserTest('at 320 pixels, and at twice the size, nothing is cut off',
  async (t, browser) => {
    const { model, page } = await stage(t, browser);
    model.next('entry', (req, reply) => reply.answer(`${'long'.repeat(60)}\n\n| a | b |\n|---|---|\n| ${'x'.repeat(90)} | y |\n\n\`\`\`\n${'code '.repeat(60)}\n\`\`\``));
    await page.say('A question of a_very_long_word_that_has_no_place_to_be_broken_at_all_and_goes_on');
    await page.untilAnswered('A question of');
    await page.choose('Background');
    await page.say('Look into it');
    await page.answer('Look into it').getByText('A scripted report.').waitFor();
    for (const size of [{ width: 320, height: 640 }, { width: 680, height: 430 }]) {
      await page.tab.setViewportSize(size);
      await page.assertInside(`${size.width} pixels`);
      await page.openPanel();
      await page.assertInside(`the panel at ${size.width} pixels`);
      await page.picture(`44-at-${size.width}`);
      await page.tab.getByRole('button', { name: 'Close the research panel' }).click();
      assert.ok(await page.composer.evaluate((e) => e.getBoundingClientRect().bottom <= innerHeight));
    }
  });

browserTest('in Chinese: Enter that ends a word of an input method sends nothing',
  async (t, browser) => {
    const { page } = await stage(t, browser);
    await page.tab.locator('.language select').selectOption('zh');
    await page.tab.getByRole('button', { name: '新对话' }).waitFor();
    assert.equal(await page.tab.locator('html').getAttribute('lang'), 'zh');
    const composer = page.tab.locator('.composer textarea');
    await composer.focus();
    const cdp = await page.tab.context().newCDPSession(page.tab);
    const compose = (text) => cdp.send('Input.imeSetComposition',
      { text, selectionStart: text.length, selectionEnd: text.length });
    const key = (type, code, name) => cdp.send('Input.dispatchKeyEvent',
      { type, windowsVirtualKeyCode: code, key: name, code: name });

    // Chromium and Firefox tell the key while composing, Safari after it: 229.
    await compose('潮汐');
    await key('rawKeyDown', 229, 'Enter');
    await key('rawKeyDown', 13, 'Enter');
    await cdp.send('Input.insertText', { text: '潮汐是什么' });
    await key('rawKeyDown', 229, 'Enter');
    assert.equal(await page.exchanges.count(), 0);
    await composer.press('Enter');
    await page.exchange('潮汐是什么').getByText('A scripted answer.').waitFor();
    assert.equal(await composer.inputValue(), '');

    const long = `${'潮汐由月球和太阳的引力引起，'.repeat(12)}参见https://example.org/a/very/long/address。`;
    await composer.fill(long);
    await composer.press('Enter');
    await page.exchange('潮汐由月球').getByText('A scripted answer.').waitFor();
    await page.tab.locator('#background').click();
    await page.tab.locator('#panel .panel-body').waitFor();

    // Escape gives up the word, not the panel.
    await page.tab.locator('#panel').focus();
    await key('rawKeyDown', 229, 'Escape');
    assert.equal(await page.tab.locator('#panel').count(), 1);
    await page.pictures('45-chinese');
    await page.tab.keyboard.press('Escape');
    await page.tab.locator('#panel').waitFor({ state: 'detached' });
  });
