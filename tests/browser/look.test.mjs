// look.test.mjs - what the page says of its states: refusals with what can be
// done, results of elsewhere, times and names for people, passages, and texts
// that are wider than where they stand.

import assert from 'node:assert/strict';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';

import { temporaryDir } from '../support/harness.mjs';
import { browserTest, stage } from './browser.mjs';

browserTest('R08 R16 a refusal says what can be done, and the text is kept',
  async (t, browser) => {
    const { model, page } = await stage(t, browser, { 'background.limit': 1 });
    model.next('research', async (req, reply) => {
      reply.text('I look.');
      await reply.hold('busy');
      reply.report('# Found');
    });
    const refusal = page.tab.locator('.composer .refusal');
    await page.choose('Background');
    await page.say('Look into this');
    await page.choose('Background');
    await page.composer.fill('And into that');
    await page.composer.press('Enter');
    await refusal.getByText('neither accepted nor queued').waitFor();
    assert.match(await refusal.innerText(), /stop one at the top right/);
    assert.equal(await page.composer.inputValue(), 'And into that');
    await page.pictures('30-background-full');

    await page.choose('Auto');
    const long = 'word '.repeat(14000);
    await page.composer.fill(long);
    await page.composer.press('Enter');
    await refusal.getByText('64 KiB at most').waitFor();
    assert.equal(await page.composer.inputValue(), long);
    await page.assertInside('a text that is too long');
    (await model.held('busy')).release();
  });

browserTest('a result of another conversation is told, and one click away, also after a reload',
  async (t, browser) => {
    const { model, aside, page } = await stage(t, browser);
    model.next('research', async (req, reply) => {
      await reply.head().hold('going');
      reply.report('# Found it');
    });
    await page.choose('Background');
    await page.say('Look into it');
    const id = await page.answer('Look into it').getAttribute('data-run');
    const held = await model.held('going');
    await page.newConversation();
    await page.say('Something else');
    await page.untilAnswered('Something else');
    await page.openPanel();
    held.release();
    await aside.until((s) => s.runs.get(id)?.state === 'completed');
    await page.until(page.background, ([s]) => /1\s+finished/.test(s));
    await page.card('Look into it').getByText('unread').waitFor();
    await page.pictures('31-finished-elsewhere');

    await page.tab.reload();
    await page.until(page.background, ([s]) => /1\s+finished/.test(s));
    await page.background.click();
    await page.answer('Look into it').getByText('Found it').waitFor();
    await page.card('Look into it').getByText('Completed').waitFor();
    assert.equal(page.hash, `#run=${id}`);
    await page.until(page.background, ([s]) => /idle/.test(s));
  });

/** A folder with one document. */
async function library(t) {
  const dir = await temporaryDir();
  t.after(() => rm(dir, { recursive: true, force: true }));
  await mkdir(path.join(dir, 'documents'));
  await writeFile(path.join(dir, 'documents', 'tides.md'),
    '# Tides\n\n## The moon\n\nThe moon pulls the water of the sea twice a day.\n');
  return path.join(dir, 'documents');
}

const WIDE = `# ${'Donaudampfschifffahrtsgesellschaftskapitaen'.repeat(3)}

The moon pulls the water. [1]

| Sea | ${'A column '.repeat(8)}| ${'unbreakable_name_of_something'.repeat(2)} |
| --- | --- | ---: |
| North | ${'a cell of some words '.repeat(6)}| 42 |

\`\`\`c
static int a_function_with_a_long_name(struct something *first, struct something *second, int flags);
\`\`\`

See [a page](https://example.org/${'very/long/'.repeat(12)}), not [this](javascript:alert(1)) <b>nor this</b>.
`;

browserTest('a narrow column holds wide texts; sources open by focus and tap; names are for people',
  async (t, browser) => {
    const { model, aside, page } = await stage(t, browser, { library: await library(t) });
    model.next('research', (req, reply) => reply.call(['library_search', { query: 'moon water' }]));
    model.next('research', (req, reply) => reply.report(WIDE));
    await page.choose('Background');
    await page.say(`Look into ${'tidesandmoonsandseas'.repeat(6)}`);
    const id = await page.answer('Look into').getAttribute('data-run');
    await aside.until((s) => s.runs.get(id)?.state === 'completed');
    await page.openPanel();
    const card = page.card('Look into');
    await card.getByText('Completed').waitFor();
    await card.locator('summary', { hasText: 'Activity' }).click();
    await card.locator('summary', { hasText: 'As a list' }).click();
    const said = await card.innerText();
    assert.doesNotMatch(said, /library_search|deliver_report/);
    assert.match(said, /\d\.\ds/, 'less than a second is told in tenths');
    await card.locator('summary', { hasText: /^Report$/ }).click();
    await card.locator('.prose pre').waitFor();
    await page.pictures('32-wide');
    assert.equal(await page.tab.locator('.prose a[href^="javascript"], .prose b').count(), 0);

    await card.locator('summary', { hasText: 'Sources' }).click();
    await card.locator('.sources .cite').first().focus();
    await page.tab.getByRole('tooltip').getByText('The moon pulls the water of the sea').waitFor();
    await page.tab.keyboard.press('Escape');
    await page.tab.getByRole('tooltip').waitFor({ state: 'detached' });

    // By tap, on a screen that knows no pointer.
    const phone = await browser.newPerson({ hasTouch: true, isMobile: true,
      viewport: { width: 390, height: 844 } });
    const small = await browser.open(phone, aside, await page.address());
    const cite = small.answer('Look into').locator('.cite').first();
    await cite.waitFor();
    if (await small.background.getAttribute('aria-expanded') === 'true') {
      await small.tab.getByRole('button', { name: 'Close the research panel' }).tap();
    }
    await cite.tap();
    await small.tab.getByRole('tooltip').getByText('The moon pulls the water of the sea').waitFor();
    await small.picture('33-passage-phone');
    await small.assertInside('a passage on a phone');
    assert.equal(await small.tab.evaluate(() => globalThis.scrollY), 0);
  });
