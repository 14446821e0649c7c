// audit.test.mjs - the audit log in the page: newest first, page by page, by
// keyboard, in both languages, on a phone.

import assert from 'node:assert/strict';

import { browserTest, stage } from './browser.mjs';
import { PHONE } from './page.mjs';

browserTest('what was done is shown newest first, with who and from where', async (t, browser) => {
  const { aside, page } = await stage(t, browser);
  const ids = [];
  for (let i = 0; i < 60; i += 1) {
    const made = await aside.api('POST', '/conversations', { title: `Number ${i}` });
    ids.push(made.json.conversation.id);
  }
  const sent = await aside.api('POST', `/conversations/${ids[0]}/messages`, { body: 'What is salt?' });
  await aside.until((s) => s.runs.get(sent.json.run.id)?.state === 'completed', { what: 'it is answered' });
  for (const id of ids.slice(20)) {
    await aside.api('DELETE', `/conversations/${id}`);
  }
  const open = page.tab.getByRole('button', { name: 'Log', exact: true });
  await open.focus();
  await page.tab.keyboard.press('Enter');
  const lines = page.tab.locator('.audit-line');
  await lines.first().waitFor();
  assert.equal(await lines.count(), 100);
  assert.match(await lines.first().textContent(), /Conversation deleted\s*You · from 127\.0\.0\.1 · conv_\d+/);
  await page.assertAccessible('the log');
  await page.tab.getByRole('button', { name: 'More' }).click();
  await page.until(lines, (all) => all.length > 100);
  const texts = await lines.allTextContents();
  assert.equal(texts.filter((x) => x.includes('Conversation begun')).length, 60, 'each once');
  assert.ok(texts.some((x) => /Ended – Completed\s*Aside · run_1/.test(x)), texts.find((x) => x.includes('Ended')));
  assert.ok(texts.some((x) => /Model request – begun\s*The model/.test(x)));
  assert.ok(!texts.some((x) => x.includes('salt') || x.includes('Number')));
  await page.tab.locator('.audit-line', { hasText: 'Ended' }).scrollIntoViewIfNeeded();
  await page.pictures('70-log');
  await page.tab.setViewportSize(PHONE);
  await page.assertInside('the log on a phone');
  await page.pictures('71-log-phone');
  await page.tab.keyboard.press('Escape');
  await page.until(page.tab.locator('dialog.audit'), (all) => all.length === 0);
});
