// web.test.mjs - a research with a page of the web and a server of tools: its
// citations open, and who looks sees whether what it depends on is there.

import assert from 'node:assert/strict';

import { eventually } from '../support/harness.mjs';
import { ScriptedMcp } from '../support/scripted-mcp.mjs';
import { startSite } from '../support/site.mjs';
import { browserTest, stage } from './browser.mjs';

const QUESTION = 'How high is the tide?';
/** More than is shown beside its number. */
const LONG = `The gauge of Kiel reads 0.1 metres. ${'It is read each hour. '.repeat(40)}This was at noon.`;

/** What the model was told, of all its calls. */
const told = (req) => req.body.messages.filter((m) => m.role === 'tool')
  .flatMap((m) => JSON.parse(m.content).passages ?? []);

async function staged(t, browser) {
  const site = await startSite(t, {
    '/tides.html': '<title>Tides</title><h1>Heights</h1><p>The tide at Saint-Malo is 12.2 metres.</p>',
  });
  const tools = await ScriptedMcp.start({ t });
  tools.tool('gauge', { readOnlyHint: true }, (call) => call.text(LONG));
  const all = await stage(t, browser, {
    'web.fetch': 'on', 'web.allow': '127.0.0.1', 'mcp.gauges.url': tools.url,
    'mcp.gauges.token': 'SECRET-1',
  });
  await all.aside.part('asided').logged(/mcp\.gauges ready/);
  return { ...all, site, tools };
}

browserTest('citations of a web page and of a server of tools open with their passages',
  async (t, browser) => {
    const { model, page, site } = await staged(t, browser);
    const url = site.url('/tides.html');
    model.next('research', (req, reply) => reply.call(['web_fetch', { url }], ['gauges__gauge', {}]));
    model.next('research', (req, reply) => {
      const n = (pattern) => told(req).find((p) => pattern.test(p.text)).n;
      reply.report(`# Tides\n\nSaint-Malo has 12.2 metres [${n(/Saint-Malo/)}], Kiel 0.1 [${n(/Kiel/)}].`);
    });
    await page.choose('Background');
    await page.say(QUESTION);
    await page.answer(QUESTION).getByText('Saint-Malo has 12.2 metres').waitFor();
    const cites = page.answer(QUESTION).locator('.cite');
    assert.equal(await cites.count(), 2);
    const passage = page.tab.locator('#passage');

    await cites.nth(0).focus();
    await passage.getByText('The tide at Saint-Malo is 12.2 metres.').waitFor();
    const link = passage.getByRole('link');
    assert.deepEqual([await link.getAttribute('href'), await link.getAttribute('rel'),
      await link.getAttribute('target'), await link.innerText()],
    [url, 'noopener noreferrer', '_blank', url]);
    await page.picture('70-web-passage');

    await cites.nth(1).focus();
    await passage.getByText('The gauge of Kiel reads 0.1 metres.').waitFor();
    assert.doesNotMatch(await passage.innerText(), /at noon/);
    await page.picture('70-long-passage');
    const [whole] = await Promise.all([page.tab.context().waitForEvent('page'),
      passage.getByRole('link', { name: 'The whole passage' }).click()]);
    assert.equal(await whole.locator('body').innerText(), LONG);
  });

browserTest('the panel tells what tools depend on, in both languages, without their keys',
  async (t, browser) => {
    const { aside, page, tools } = await staged(t, browser);
    await page.openPanel();
    const servers = page.tab.locator('.servers');
    await servers.locator('summary', { hasText: 'Tools of research' }).click();
    await servers.getByText('ready, 1 tool').waitFor();
    await page.picture('71-tools');

    await tools.close();
    const state = async () => (await aside.api('GET', '/overview')).json.tools[0].state;
    await eventually(async () => await state() === 'unreachable', { what: 'it is missed' });
    await page.tab.getByRole('button', { name: 'Close the research panel' }).click();
    await page.openPanel();
    await servers.locator('summary', { hasText: '1 source of tools is missing' }).click();
    await servers.getByText('cannot be reached (no connection)').waitFor();
    await page.assertAccessible('a server of tools that is gone');
    await page.pictures('72-tools-missing');
    assert.doesNotMatch(await page.tab.content(), /SECRET/);

    const chinese = await browser.open(await browser.newPerson({ locale: 'zh-CN' }), aside);
    await chinese.tab.locator('#background').click();
    await chinese.tab.getByText('1 个工具来源不可用').click();
    await chinese.tab.getByText('无法连接（连接失败）').waitFor();

    // It comes back, and the panel says so when it is opened.
    await tools.listen(tools.port);
    await eventually(async () => await state() === 'ok', { what: 'it is back' });
    await page.tab.getByRole('button', { name: 'Close the research panel' }).click();
    await page.openPanel();
    await servers.locator('summary', { hasText: 'Tools of research' }).click();
    await servers.getByText('ready, 1 tool').waitFor();
  });
