// approval.test.mjs - a call that waits for the person: shown as it is, decided
// by mouse or keyboard, in the conversation and in the panel.

import assert from 'node:assert/strict';

import { ScriptedMcp } from '../support/scripted-mcp.mjs';
import { browserTest, stage } from './browser.mjs';

/** An Aside with a server whose tool acts. */
async function staged(t, browser) {
  const mcp = await ScriptedMcp.start({ t });
  mcp.tool('send_mail', {}, (call) => call.text('sent'));
  const all = await stage(t, browser, { 'mcp.post.url': mcp.url });
  await all.aside.part('asided').logged(/mcp\.post ready/);
  return { ...all, mcp };
}

/** From here on a click in the moment in which a call is shown, which was meant
 *  for something else; `clicked` is settled then. */
const CLICKS = () => {
  globalThis.clicked = new Promise((done) => {
    const watch = new MutationObserver(() => {
      const button = document.querySelector('.approval button');
      if (button) {
        watch.disconnect();
        button.click();
        done(undefined);
      }
    });
    watch.observe(document.body, { childList: true, subtree: true });
  });
};

const HOSTILE = '{"to":"a@example.org","n":12345678901234567890,"html":"<img src=x onerror=alert(1)>",' +
  '"turned":"abc\u202Edef","hidden":"a\u{E0041}\u2800\u00A0b","list":[],"deep":{"a":[1,{"b":null}]}}';

browserTest('a call is shown exactly, allowed once, allowed for the research, and denied with a word',
  async (t, browser) => {
    const { model, page, mcp } = await staged(t, browser);
    const ask = (args) => (req, reply) => reply.call(['post__send_mail', args]);
    model.next('research', ask(HOSTILE));
    model.next('research', ask({ to: 'b@example.org', lines: Array.from({ length: 60 }, (_, i) => `line ${i}`) }));
    model.next('research', ask({ to: 'c@example.org' }));
    let told;
    model.next('research', (req, reply) => {
      told = req.body.messages.filter((m) => m.role === 'tool').at(-1).content;
      reply.report('It was not sent.');
    });
    await page.choose('Background');
    await page.say('Mail it');
    const answer = page.answer('Mail it');
    const block = answer.locator('.approval');
    await block.waitFor();
    assert.deepEqual((await block.locator('pre').innerText()).split('\n'), [
      '{', '  "to": "a@example.org",', '  "n": 12345678901234567890,', '  "html": "<img src=x onerror=alert(1)>",',
      '  "turned": "abc\\u202edef",', '  "hidden": "a\\udb40\\udc41\\u2800\\u00a0b",', '  "list": [],', '  "deep": {', '    "a": [', '      1,', '      {',
      '        "b": null', '      }', '    ]', '  }', '}']);
    assert.match(await block.innerText(), /post: send mail.*post__send_mail.*of the server “post”/s);
    assert.equal(await block.locator('img').count(), 0);
    await page.until(page.background, ([s]) => /waiting for you/.test(s));
    // It is said aloud as a question is.
    await page.tab.locator('.aloud', { hasText: 'Waiting for your permission' }).waitFor({ state: 'attached' });
    assert.deepEqual(mcp.calls, []);
    await page.openPanel();
    await page.card('Mail it').locator('.approval').waitFor();
    await page.pictures('20-approval');

    // With the keyboard alone.
    await block.locator('pre').focus();
    await page.tab.keyboard.press('Tab');
    assert.equal(await page.tab.evaluate(() => document.activeElement.textContent.trim()), 'Allow once');
    await page.tab.keyboard.press('Enter');
    await block.locator('pre', { hasText: 'b@example.org' }).waitFor();
    assert.equal(mcp.calls.length, 1);
    await answer.locator('.decisions', { hasText: 'Allowed once' }).waitFor();
    // A long one scrolls within.
    const [inner, outer] = await block.locator('pre').evaluate((e) => [e.scrollHeight, e.clientHeight]);
    assert.ok(inner > 2 * outer && outer < 400, `${inner} in ${outer}`);
    await page.pictures('21-approval-long');

    // In the panel: denied, with a word to the model.
    const card = page.card('Mail it');
    await card.getByLabel('A word to the model').fill('Not today');
    await card.getByRole('button', { name: 'Deny' }).click();
    await block.locator('pre', { hasText: 'c@example.org' }).waitFor();
    await card.locator('.decisions', { hasText: 'Not today' }).waitFor();
    assert.equal(mcp.calls.length, 1);

    // Both languages.
    await page.tab.locator('.language select').selectOption('zh');
    await block.getByText('此操作需要你的许可').waitFor();
    await page.pictures('22-approval-zh');
    await page.tab.locator('.language select').selectOption('en');
    await block.getByRole('button', { name: 'Deny' }).click();
    await answer.getByText('It was not sent.').waitFor();
    await block.waitFor({ state: 'detached' });
    assert.deepEqual(JSON.parse(told), { error: 'the person did not allow this call' });
    await page.pictures('23-approval-decided');
  });

browserTest('two tabs: the second learns that it was decided, and says so if it was late',
  async (t, browser) => {
    const { model, aside, person, page, mcp } = await staged(t, browser);
    model.next('research', async (req, reply) => {
      await reply.hold('watched');
      reply.call(['post__send_mail', { to: 'a' }], ['post__send_mail', { to: 'b' }]);
    });
    await page.choose('Background');
    await page.say('Mail it');
    await page.tab.evaluate(CLICKS);
    (await model.held('watched')).release();
    await page.tab.evaluate(() => globalThis.clicked);
    const block = page.answer('Mail it').locator('.approval');
    await block.waitFor();
    assert.deepEqual(mcp.calls, []);
    const other = await browser.open(person, aside, await page.address());
    const there = other.answer('Mail it').locator('.approval');
    await there.waitFor();
    assert.equal((await aside.api('GET', '/runs?state=active')).json.runs[0].approval.state, 'open');
    await there.getByRole('button', { name: 'Allow for this research' }).click();
    await page.answer('Mail it').getByText('A scripted report.').waitFor();
    await block.waitFor({ state: 'detached' });
    assert.equal(mcp.calls.length, 2);
    await page.answer('Mail it').locator('.decisions', { hasText: 'Allowed for all of it' }).waitFor();
  });
