// library.test.mjs - documents are added, shown and removed in the page: by
// choosing and dropping, by keyboard, in both languages, on a phone.

import assert from 'node:assert/strict';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';

import { temporaryDir } from '../support/harness.mjs';
import { browserTest, stage } from './browser.mjs';
import { PHONE } from './page.mjs';

const SEA = '# Sea\n\nThe herring swims in shoals along the northern coast.\n';

const file = (name, text = SEA) => ({ name, mimeType: 'text/markdown', buffer: Buffer.from(text) });
const doc = (page, name) => page.tab.locator('.library-list .doc', { hasText: name });

function deferred() {
  const made = {};
  made.promise = new Promise((resolve) => { made.resolve = resolve; });
  return made;
}

async function openLibrary(page) {
  await page.tab.getByRole('button', { name: 'Library', exact: true }).click();
  await page.tab.locator('dialog.library[open]').waitFor();
  await page.tab.getByText('None yet.').or(page.tab.locator('.library-list .doc')).first().waitFor();
}

browserTest('files are chosen, read and removed, and the page is told without asking',
  async (t, browser) => {
    const { page } = await stage(t, browser);
    await openLibrary(page);
    await page.pictures('60-library-empty');
    await page.tab.locator('.pick-files').setInputFiles([
      file('herring.md'), file('bytes.txt', '\u0000\u0001'), file('program.exe'),
      file('large.txt', 'a '.repeat(2700000))]);
    await page.tab.locator('.library-list .bad', { hasText: 'Larger than 5 MB' }).waitFor();
    await page.tab.locator('.library-list .bad', { hasText: 'of this kind cannot be read' }).waitFor();
    await page.tab.getByText('2 of 4 added, 2 refused').waitFor();
    await doc(page, 'herring.md').getByText('1 passage').waitFor();
    await doc(page, 'bytes.txt').getByText('Cannot be read: it is no text').waitFor();
    await page.assertAccessible('the library');
    await page.assertInside('the library');
    await page.pictures('61-library');
    await page.tab.getByRole('button', { name: 'Clear these lines' }).click();
    assert.equal(await doc(page, 'program.exe').count(), 0);

    // removed by keyboard, after it is said what that means
    const remove = page.tab.getByRole('button', { name: 'Remove herring.md' });
    await remove.focus();
    await page.tab.keyboard.press('Enter');
    await page.tab.getByText('Reports keep the passages that they cite.').waitFor();
    assert.equal(await page.tab.evaluate(() => document.activeElement.textContent.trim()), 'Cancel');
    await page.tab.keyboard.press('Enter');
    await remove.waitFor();
    await remove.press('Enter');
    await page.picture('62-library-sure');
    await page.tab.getByRole('button', { name: 'Remove it' }).click();
    await page.until(doc(page, 'herring.md'), (all) => all.length === 0);
    await page.tab.keyboard.press('Escape');
    await page.until(page.tab.locator('dialog.library'), (all) => all.length === 0);
    assert.equal(await page.tab.evaluate(() => document.activeElement.textContent.trim()), 'Library');
  });

browserTest('a folder is taken with what can be read in it, dropped files too; what another tab adds is shown',
  async (t, browser) => {
    const { aside, page } = await stage(t, browser);
    const dir = path.join(await temporaryDir(), 'things');
    await mkdir(path.join(dir, 'deep'), { recursive: true });
    await writeFile(path.join(dir, 'a.md'), SEA);
    await writeFile(path.join(dir, 'deep', 'b.html'), '<h1>Salt</h1><p>Of the sea.</p>');
    await writeFile(path.join(dir, 'deep', 'c.bin'), 'no');
    await openLibrary(page);
    await page.tab.locator('.pick-folder').setInputFiles(dir);
    await doc(page, 'things/deep/b.html').getByText('1 passage').waitFor();
    await doc(page, 'things/a.md').getByText('1 passage').waitFor();
    await page.tab.getByText('1 file of another kind was passed over.').waitFor();

    const data = await page.tab.evaluateHandle(() => {
      const all = new DataTransfer();
      all.items.add(new File(['# Dropped\n\nIt fell into the sea.\n'], 'dropped.md'));
      return all;
    });
    await page.tab.dispatchEvent('.drop', 'dragover', { dataTransfer: data });
    assert.equal(await page.tab.locator('.drop.over').count(), 1);
    await page.tab.dispatchEvent('.drop', 'drop', { dataTransfer: data });
    await doc(page, 'dropped.md').getByText('1 passage').waitFor();

    await aside.api('PUT', '/library/files/elsewhere.md', SEA, { headers: { 'content-type': 'text/plain' } });
    await doc(page, 'elsewhere.md').getByText('1 passage').waitFor();
    await page.tab.setViewportSize(PHONE);
    await page.assertInside('the library on a phone');
    await page.pictures('63-library-phone');
  });

browserTest('without a runtime documents wait, in either language; a server that is gone is said, and tried again',
  async (t, browser) => {
    const { aside, page } = await stage(t, browser);
    await openLibrary(page);
    page.mayFail = true;
    const gone = /\/library\/files\//;
    await page.tab.route(gone, (route) => route.abort());
    await page.tab.locator('.pick-files').setInputFiles([file('late.md')]);
    await page.tab.locator('.library-list .bad', { hasText: 'The server cannot be reached.' }).waitFor();
    await page.tab.unroute(gone);
    await page.tab.getByRole('button', { name: 'Try again' }).click();
    await doc(page, 'late.md').getByText('1 passage').waitFor();
    await page.tab.getByRole('button', { name: 'Read all again' }).click();
    await page.tab.getByText('Everything is read.').waitFor();

    await aside.kill('asided');
    await page.tab.locator('.pick-files').setInputFiles([file('later.md')]);
    await doc(page, 'later.md').getByText('Waits to be read').waitFor();
    await page.tab.keyboard.press('Escape');
    await page.tab.locator('.language select').selectOption('zh');
    await page.tab.getByRole('button', { name: '资料库', exact: true }).click();
    await doc(page, 'later.md').getByText('等待读取').waitFor();
    await page.picture('64-library-zh');
    // a run that fails is said, and made again
    const lock = path.join(aside.dataDir, 'library.lock');
    await rm(lock);
    await mkdir(lock);
    await aside.restart('asided');
    await page.tab.getByText('自动重试').waitFor();
    await rm(lock, { recursive: true });
    await doc(page, 'later.md').getByText('1 个段落').waitFor();
    await page.until(page.tab.getByText('自动重试'), (all) => all.length === 0);
  });

browserTest('a page of the list that comes late does not put back an older list',
  async (t, browser) => {
    const dir = path.join(await temporaryDir(), 'shared');
    await mkdir(dir);
    await Promise.all(Array.from({ length: 205 }, (_, i) =>
      writeFile(path.join(dir, `s${String(i).padStart(3, '0')}.md`), `# S${i}\n\nShared.\n`)));
    const { aside, page } = await stage(t, browser, { library: dir });
    await openLibrary(page);
    await page.tab.getByText('205 documents').waitFor();
    await doc(page, 's199.md').getByText('1 passage').waitFor();

    const late = deferred();
    const asked = deferred();
    await page.tab.route(/\/library\?after=/, async (route) => {
      const reply = await route.fetch();
      asked.resolve();
      await late.promise;
      await route.fulfill({ response: reply });
    });
    await page.tab.getByRole('button', { name: 'Show more' }).click();
    await asked.promise;
    await aside.api('PUT', '/library/files/new.md', SEA, { headers: { 'content-type': 'text/plain' } });
    await doc(page, 'new.md').getByText('1 passage').waitFor();
    await page.until(page.tab.getByText('Documents are being read'), (all) => all.length === 0);
    const arrives = page.tab.waitForResponse(/\/library\?after=/);
    late.resolve();
    await (await arrives).finished();
    await page.tab.evaluate(() => new Promise((done) => {
      requestAnimationFrame(() => requestAnimationFrame(done));
    }));
    assert.equal(await doc(page, 'new.md').count(), 1);
    // asked for again, the page is there
    await page.tab.getByRole('button', { name: 'Show more' }).click();
    await doc(page, 's204.md').waitFor();
    assert.equal(await doc(page, 'new.md').count(), 1);
  });
