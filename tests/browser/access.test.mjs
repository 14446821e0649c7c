// access.test.mjs - auth = token in the page: the way in, at any moment; logging
// out in another tab; sessions and tokens; a phone, a keyboard, both languages.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import path from 'node:path';
import { promisify } from 'node:util';

import { bin } from '../support/harness.mjs';
import { browserTest, stage } from './browser.mjs';
import { PHONE } from './page.mjs';

const run = promisify(execFile);
const TOKEN = { name: 'Log in', exact: true };

/** An Aside with an account, a token, and a page that asks for it. */
async function guarded(t, browser) {
  const w = await stage(t, browser, { auth: 'token' });
  const { aside, page } = w;
  const cli = async (...words) => (await run(bin('aside', false), words, { env: aside.env })).stdout.trim();
  await cli('account', 'add', 'me');
  const token = await cli('token', 'add', '-a', 'me', '-s', 'admin', 'laptop');
  const headers = { authorization: `Bearer ${token}` };
  const api = (method, where, body) => aside.api(method, where, body, { headers });
  const sql = (text) => run('sqlite3', ['-cmd', '.timeout 5000', path.join(aside.dataDir, 'aside.db'), text]);
  const field = (p) => p.tab.getByLabel('Token', { exact: true });
  const enter = async (p = page, secret = token) => {
    await field(p).fill(secret);
    await p.tab.keyboard.press('Enter');
  };
  const isIn = (p = page) => p.tab.locator('dialog.login').waitFor({ state: 'detached' });
  return { ...w, cli, token, api, sql, field, enter, isIn };
}

browserTest('a stranger is asked for a token, and a wrong one says so', async (t, browser) => {
  const { page, field, enter, isIn, token } = await guarded(t, browser);
  await field(page).waitFor();
  assert.equal(await page.tab.evaluate(() => document.activeElement?.id), 'login-token');
  assert.deepEqual(await field(page).evaluate((x) => [x.type, x.autocomplete, x.spellcheck]), ['password', 'off', false]);
  await page.assertAccessible('the login');
  await page.pictures('72-login');
  await page.tab.keyboard.press('Escape');
  await page.tab.keyboard.press('Escape');
  assert.ok(await field(page).isVisible(), 'there is nothing behind it');
  await page.tab.keyboard.press('Enter');
  await page.tab.getByText('Paste a token first.').waitFor();
  await enter(page, `aside_${'A'.repeat(43)}`);
  await page.tab.getByText('This token is not known here').waitFor();
  assert.equal(await field(page).getAttribute('aria-invalid'), 'true');
  await page.picture('73-login-wrong');
  await page.tab.setViewportSize(PHONE);
  await page.assertInside('the login on a phone');
  await page.pictures('74-login-phone');
  const login = page.tab.locator('dialog.login');
  await login.getByLabel('Language').selectOption('zh');
  await page.tab.getByText('请粘贴此 Aside 的令牌。').waitFor();
  await login.getByLabel('语言').selectOption('en');
  await page.tab.setViewportSize({ width: 1360, height: 860 });
  await enter(page, `  ${token}\n`);
  await isIn();
  await page.composer.fill('What is salt?');
  await page.tab.keyboard.press('Enter');
  await page.prose('What is salt?').getByText('A scripted answer.').waitFor();
  assert.equal(await page.tab.evaluate(() => document.cookie), '', 'no script sees the cookie');
});

browserTest('a session that has ended asks again, and what was being written is kept', async (t, browser) => {
  const { page, person, aside, api, sql, enter, isIn, field } = await guarded(t, browser);
  await enter();
  await isIn();
  const other = await browser.open(person, aside);
  await other.composer.waitFor();
  await page.composer.fill('Half a thought');

  // Expired, while something is written: the next request tells.
  await sql('UPDATE session SET expires_ms = 1');
  await field(page).waitFor();
  await page.tab.getByText('Your session has ended.').waitFor();
  await enter();
  await isIn();
  assert.equal(await page.composer.inputValue(), 'Half a thought');
  await isIn(other); // and the other tab goes on by itself

  // Revoked from elsewhere.
  const { sessions } = (await api('GET', '/sessions')).json;
  assert.equal(sessions.length, 1);
  await api('DELETE', `/sessions/${sessions[0].id}`);
  await field(page).waitFor();
  await field(other).waitFor();
  await enter(other);
  await isIn(other);
  await isIn(page);
  assert.equal(await page.composer.inputValue(), 'Half a thought');
  await page.composer.focus();
  await page.tab.keyboard.press('Enter');
  await page.prose('Half a thought').getByText('A scripted answer.').waitFor();

  // Out in one tab is out in all, and what would be lost with it is said before.
  await page.composer.fill('A secret thought');
  const out = () => other.tab.getByRole('button', { name: 'Log out', exact: true }).click();
  await out();
  await other.tab.getByText('1 text that you wrote is not sent yet.').waitFor();
  await other.assertAccessible('what a logout loses');
  await other.picture('78-logout');
  await other.tab.getByRole('button', { name: 'Cancel', exact: true }).click();
  assert.equal(await page.composer.inputValue(), 'A secret thought');
  await out();
  await other.tab.getByRole('button', { name: 'Log out and forget it' }).click();
  await field(other).waitFor();
  await field(page).waitFor();
  assert.equal((await api('GET', '/sessions')).json.sessions.length, 0);
  for (const one of [page, other]) {
    await one.tab.waitForFunction(() => !document.body.textContent.includes('thought'));
    const kept = await one.tab.evaluate(() => [...Object.keys(localStorage),
      ...Object.keys(sessionStorage), JSON.stringify([{ ...localStorage }, { ...sessionStorage }])]);
    assert.deepEqual(kept.slice(0, -1).filter((key) => !/:(lang|left|tab)$/.test(key)), []);
    assert.doesNotMatch(kept.at(-1), /thought|"me"/);
  }
  await enter(other);
  await isIn(other);
  await isIn(page);
  for (const one of [page, other]) {
    assert.equal(await one.composer.inputValue(), '');
  }
});

browserTest('sessions and tokens are seen, made and ended in the page', async (t, browser) => {
  const { page, person, api, enter, isIn, aside } = await guarded(t, browser);
  await enter();
  await isIn();
  const other = await browser.open(person, aside);
  await other.tab.getByRole('button', { name: 'Access', exact: true }).click();
  const there = other.tab.locator('dialog.access .access-row');
  await page.tab.getByRole('button', { name: 'Access', exact: true }).focus();
  await page.tab.keyboard.press('Enter');
  const dialog = page.tab.locator('dialog.access');
  const rows = dialog.locator('.access-row');
  await rows.first().waitFor();
  assert.match(await rows.first().textContent(), /Chrome, Linux\s*this one\s*with laptop · from 127\.0\.0\.1 · seen/);
  assert.match(await rows.last().textContent(), /laptop.*until .* 20\d\d · used/s);
  await page.assertAccessible('access');
  await page.pictures('75-access');
  await dialog.getByRole('button', { name: 'Make', exact: true }).click();
  await dialog.getByText('Give it a name').waitFor();
  await dialog.getByLabel('Name').fill('Telephone');
  await dialog.getByLabel('May').selectOption('write');
  await dialog.getByRole('button', { name: 'Make', exact: true }).click();
  const secret = dialog.locator('.access-shown input');
  await secret.waitFor();
  const value = await secret.inputValue();
  assert.match(value, /^aside_[\w-]{43}$/);
  await page.tab.context().grantPermissions(['clipboard-read', 'clipboard-write']);
  await dialog.getByRole('button', { name: 'Copy', exact: true }).click();
  await dialog.getByText('Copied.').waitFor();
  await page.assertAccessible('a token that was made');
  await page.pictures('76-access-made');
  const by = { headers: { authorization: `Bearer ${value}` } };
  assert.equal((await aside.api('GET', '/runs', undefined, by)).status, 200);
  await dialog.getByRole('button', { name: 'Done', exact: true }).click();
  await page.until(there, (all) => all.length === 3);
  assert.equal((await dialog.textContent()).includes(value), false);
  await page.tab.setViewportSize(PHONE);
  await page.assertInside('access on a phone');
  await page.pictures('77-access-phone');
  await dialog.getByRole('button', { name: 'Revoke: Telephone' }).click();
  await dialog.getByRole('button', { name: 'Revoke: sure?' }).click();
  await page.until(rows, (all) => all.length === 2);
  await page.until(there, (all) => all.length === 2); // another tab hears of it
  assert.equal((await aside.api('GET', '/runs', undefined, by)).status, 401);
  assert.deepEqual((await api('GET', '/tokens')).json.tokens.map((x) => x.name), ['laptop']);
  await dialog.getByRole('button', { name: /^Log out: / }).click();
  await dialog.getByRole('button', { name: 'Log out: sure?' }).click();
  await page.tab.getByRole('button', TOKEN).waitFor();
});
