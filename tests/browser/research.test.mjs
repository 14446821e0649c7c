// research.test.mjs - the panel's picture of a research, going on from one that
// ended, and finding it all again.

import assert from 'node:assert/strict';

import { shelf } from '../support/started.mjs';
import { browserTest, stage } from './browser.mjs';

/** A research that searched, was adjusted, asked, and has delivered. */
async function wholeResearch({ model, aside, page }, question) {
  model.next('research', async (req, reply) => {
    reply.text('I look at tides first.');
    await reply.hold('looking');
  });
  model.next('research', (req, reply) => reply.call(['note', { text: 'the moon' }]));
  model.next('research', (req, reply) => reply.call(['ask_user', { question: 'Which sea?' }]));
  model.next('research', (req, reply) => reply.report('# Tides\n\nThe **moon** pulls the water.'));
  await page.choose('Background');
  await page.say(question);
  await model.held('looking');
  const id = await page.answer(question).getAttribute('data-run');
  await page.openPanel();
  await page.card(question).locator('.tracks').waitFor();
  await page.adjustBox(question).fill('and salt');
  await page.adjustBox(question).press('Enter');
  await page.card(question).getByLabel('Your answer to the research').fill('the North Sea');
  await page.pictures('20-awaiting');
  await page.card(question).getByLabel('Your answer to the research').press('Enter');
  await aside.until((s) => s.runs.get(id)?.state === 'completed');
  await page.card(question).getByText('Completed').waitFor();
  return id;
}

browserTest('the timeline shows requests, look-ups, waiting and what the person said',
  async (t, browser) => {
    const all = await stage(t, browser);
    const { page } = all;
    await wholeResearch(all, 'Look into tides');
    const card = page.card('Look into tides');
    const rows = card.locator('.track:not(.axis)');
    assert.deepEqual(await rows.locator('.track-name').allInnerTexts(),
      ['Model', 'Look-ups', 'Waiting', 'Yours']);
    assert.equal(await card.locator('.track.of-requests .bar').count(), 4);
    assert.equal(await card.locator('.track.of-requests .bar.interrupted').count(), 1);
    assert.equal(await card.locator('.track.of-handoffs .bar.handed').count(), 2);
    await card.getByText('As a list').click();
    await page.until(card.locator('.events tbody tr'),
      (s) => s.some((line) => /Model request\s+interrupted · by an adjustment/.test(line)));
    await card.locator('summary', { hasText: /^Report$/ }).click();
    await card.getByText('The moon pulls the water.').waitFor();
    await page.pictures('21-timeline');
  });

browserTest('R05 a draft is read while the research goes on, replaced by the report, and kept by a stop',
  async (t, browser) => {
    const { model, page } = await stage(t, browser);
    /** @param {string} question */
    const drafted = async (question) => {
      model.next('research', (req, reply) => reply
        .toolCall('publish_draft', { report: '# So far\n\nThe **moon**.' }).finish('tool_calls')
        .usage({ prompt_tokens: 200, completion_tokens: 9, prompt_tokens_details: { cached_tokens: 128 } }).done());
      model.next('research', async (req, reply) => {
        if (await reply.head().hold(question) === 'released') {
          reply.report('# Tides\n\nMoon and sun.');
        }
      });
      await page.choose('Background');
      await page.say(question);
      await page.answer(question).getByText('The moon.').waitFor();
      await page.answer(question).getByText('Draft of the report', { exact: true }).waitFor();
      return model.held(question);
    };
    (await drafted('Look into tides')).release();
    await page.answer('Look into tides').getByText('Moon and sun.').waitFor();
    assert.equal(await page.answer('Look into tides').getByText('The moon.').count(), 0);
    assert.equal(await page.answer('Look into tides').getByText(/draft/i).count(), 0);

    await drafted('Look into salt');
    await page.openPanel();
    const card = page.card('Look into salt');
    await card.locator('summary', { hasText: 'Draft of the report' }).click();
    await card.getByText('The moon.').waitFor();
    await card.getByRole('meter', { name: 'From the prompt cache' }).waitFor();
    assert.match(await card.locator('.meters').innerText(), /From the prompt cache\s+64%/);
    await card.getByRole('button', { name: 'Stop research' }).click();
    await card.locator('summary', { hasText: /^Last draft/ }).waitFor();
    for (const again of [false, true]) {
      if (again) {
        await page.tab.reload();
      }
      await page.answer('Look into salt').getByText('Last draft: it ended without a report').waitFor();
      await page.answer('Look into salt').getByText('The moon.').waitFor();
    }
    await page.pictures('24-last-draft');
  });

browserTest('R31 what could not be found stands below the report, with the reason; evidence opens its passage',
  async (t, browser) => {
    const { model, page } = await stage(t, browser, { library: await shelf(t) });
    let id = '';
    model.next('research', (req, reply) => reply.call(['library_search', { query: 'tides moon' }]));
    model.next('research', (req, reply) => {
      id = /\[requirement (msg_\d+)\]/.exec(req.raw.toString())?.[1] ?? '';
      reply.call(['deliver_report', { report: '# Tides\n\nThe moon [1].',
        coverage: [{ id, status: 'partial', note: 'no figures for the North Sea', sources: [1] }] }]);
    });
    await page.choose('Background');
    await page.say('Look into tides');
    const answer = page.answer('Look into tides');
    await answer.getByRole('region', { name: 'What I could not find' }).waitFor();
    await answer.locator('.missing').getByText('Partly covered – no figures for the North Sea').waitFor();
    await page.pictures('25-missing');
    await answer.locator('.missing .cite').click();
    await page.tab.locator('#passage').getByText('The moon pulls').waitFor();
  });

browserTest('R30 an ended research is continued from its card, with and without words',
  async (t, browser) => {
    const all = await stage(t, browser);
    const { model, page } = all;
    await wholeResearch(all, 'Look into tides');
    const box = page.card('Look into tides').first().getByLabel('Go on from here in a new research');
    await box.fill('now the ebb');
    await box.press('Enter');
    await page.exchange('now the ebb').locator('.answer').getByText('A scripted report.').waitFor();
    assert.match(model.requests.at(-1).raw.toString(), /The \*\*moon\*\* pulls the water/);
    const cards = page.tab.locator('#panel article.card');
    await page.until(cards, (s) => s.length === 2);
    await cards.first().getByText('Completed').waitFor();
    await cards.first().getByRole('button', { name: 'Continue' }).click();
    await page.until(cards, (s) => s.length === 3);
    await page.until(page.exchange('now the ebb').locator('.answer'), (s) => s.length === 2);
  });

browserTest('everything is found from anywhere: by its words, or by its state',
  async (t, browser) => {
    const all = await stage(t, browser);
    const { page, person, aside } = all;
    const id = await wholeResearch(all, 'Look into tides');
    await page.newConversation();
    await page.say('Something else');
    await page.untilAnswered('Something else');

    await page.tab.keyboard.press('Control+k');
    const find = page.tab.getByRole('dialog');
    await find.getByLabel('Search in messages and reports').fill('moon pulls');
    const hit = find.locator('.hit', { hasText: 'Report' });
    await hit.getByText('pulls the water').waitFor();
    await page.pictures('22-found');
    await hit.click();
    await page.exchange('Look into tides').waitFor();
    await find.waitFor({ state: 'detached' });

    // The list of all research, and its filter; by keyboard alone.
    await page.newConversation();
    await page.tab.getByRole('button', { name: 'Find', exact: true }).focus();
    await page.tab.keyboard.press('Enter');
    await find.locator('.hit', { hasText: 'Look into tides' }).waitFor();
    await page.pictures('23-all-research');
    await find.getByLabel('Failed').check({ force: true });
    await find.getByText('No such research.').waitFor();
    await find.getByLabel('Completed').check({ force: true });
    await find.locator('.hit', { hasText: 'Look into tides' }).click();
    await page.until(page.tab.locator(`#panel article.card[data-run=${id}].wanted`), (s) => s.length === 1);
    assert.equal(page.hash, `#run=${id}`);

    // The address alone leads there, too.
    const other = await browser.open(person, aside, `#run=${id}`);
    await other.until(other.tab.locator(`#panel article.card[data-run=${id}].wanted`), (s) => s.length === 1);
    await other.exchange('Look into tides').waitFor();
  });

browserTest('a research that ends unseen is marked in the list of conversations and of research',
  async (t, browser) => {
    const { model, page } = await stage(t, browser);
    model.next('research', async (req, reply) => {
      await reply.head().hold('going');
      reply.report('# Found');
    });
    await page.choose('Background');
    await page.say('Look into it');
    const held = await model.held('going');
    await page.newConversation();
    held.release();
    await page.row('Look into it').getByText('unread').waitFor({ state: 'attached' });
    await page.tab.reload();
    await page.row('Look into it').getByText('unread').waitFor({ state: 'attached' });
    await page.tab.keyboard.press('Control+k');
    const hit = page.tab.getByRole('dialog').locator('.hit', { hasText: 'Look into it' });
    await hit.getByText('unread').waitFor({ state: 'attached' });
    await hit.click();
    await page.row('Look into it').getByText('unread').waitFor({ state: 'detached' });
    await page.tab.keyboard.press('Control+k');
    await hit.waitFor();
    await hit.getByText('unread').waitFor({ state: 'detached' });
  });
