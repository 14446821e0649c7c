// states.test.mjs - the states of the page that other tests do not picture:
// each is looked at by axe-core, and kept as a picture.

import assert from 'node:assert/strict';

import { browserTest, stage } from './browser.mjs';

browserTest('R28 R23 a research that asks, is answered, and is adjusted too late',
  async (t, browser) => {
    const { model, aside, page } = await stage(t, browser);
    const question = 'Which year is meant?';
    model.next('research', (req, reply) => reply.call(['ask_user', { question }]));
    await page.choose('Background');
    await page.say('Look into this');
    const answer = page.answer('Look into this');
    await answer.getByText(question).waitFor();
    await page.until(page.background, ([s]) => /waiting for you/.test(s));
    await page.openPanel();
    await page.card('Look into this').locator('.awaiting').getByText(question).waitFor();
    await page.pictures('10-awaiting');

    // It is answered under its question, and goes on to its end.
    const box = answer.getByLabel('Your answer to the research');
    await box.fill('The last one');
    await box.press('Enter');
    await page.exchange('The last one').getByText('Handed to the research model').waitFor();
    await answer.getByText('A scripted report.').waitFor();
    await box.waitFor({ state: 'detached' });

    // What comes after its end is kept, and said to be without effect.
    const run = await answer.getAttribute('data-run');
    const late = await aside.api('POST', `/runs/${run}/adjustments`, { body: 'Too late' });
    assert.equal(late.status, 202, late.text);
    await page.exchange('Too late')
      .getByText('Could not apply: the research had ended').waitFor();
    await page.pictures('11-not-applied');
  });

browserTest('the list, in English and Chinese, beside a conversation and over it',
  async (t, browser) => {
    const { page } = await stage(t, browser);
    for (const title of ['The first one', 'The second one']) {
      await page.say(title);
      await page.untilAnswered(title);
      await page.newConversation();
    }
    await page.tab.getByRole('button', { name: 'Rename “The first one”' }).click();
    await page.tab.getByLabel('Title of the conversation').fill('它的新名字');
    await page.tab.getByLabel('Title of the conversation').press('Enter');
    await page.row('它的新名字').waitFor();
    await page.tab.getByRole('button', { name: 'Delete “The second one”' }).click();
    await page.tab.locator('.language select').selectOption('zh');
    await page.tab.getByRole('button', { name: '新对话' }).waitFor();
    await page.openPanel();
    await page.pictures('12-list-zh');

    // On a phone the list lies over the rest.
    await page.tab.locator('.language select').selectOption('en');
    await page.tab.getByRole('button', { name: 'Close the research panel' }).click();
    await page.tab.setViewportSize({ width: 390, height: 844 });
    await page.tab.getByRole('button', { name: 'Conversations', exact: true }).click();
    await page.row('它的新名字').waitFor();
    await page.assertAccessible('the list on a phone');
    await page.picture('13-list-phone');
    await page.row('它的新名字').click();
    await page.untilSays('The first one', 'A scripted answer.');
  });

browserTest('without network: what is there stays to be read, and what is written is kept',
  async (t, browser) => {
    const { person, page } = await stage(t, browser);
    await page.say('A question of before');
    await page.untilAnswered('A question of before');
    page.mayFail = true;
    await person.setOffline(true);
    await page.notice.getByText('Reconnecting').waitFor();
    await page.composer.fill('A question without network');
    await page.composer.press('Enter');
    await page.tab.locator('.composer .refusal').getByText('cannot be reached').waitFor();
    await page.pictures('14-offline');
    await person.setOffline(false);
    await page.composer.press('Enter');
    await page.untilSays('A question without network', 'A scripted answer.');
    await page.tab.locator('.composer .refusal').waitFor({ state: 'detached' });
  });
