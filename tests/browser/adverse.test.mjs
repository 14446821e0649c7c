// adverse.test.mjs - servers, networks, links and texts at their worst: the
// page says what is wrong, stays in shape, and goes on by itself.

import assert from 'node:assert/strict';

import { browserTest, stage } from './browser.mjs';
import { PHONE } from './page.mjs';

/** What stands between page and server answers in its own way. */
const broken = { status: 502, contentType: 'text/html', body: '<h1>Bad gateway</h1>' };
const cut = { status: 200, contentType: 'application/json', body: '{"as_of": 12, "feed"' };

browserTest('a first load from a bad network comes to its end by itself',
  async (t, browser) => {
    const { aside, person, page } = await stage(t, browser);
    await page.say('Said before');
    await page.untilAnswered('Said before');
    const bad = await browser.open(person, aside, await page.address(), async ({ tab }) => {
      await tab.route(/\/text\/en[.\w]*\.json/, (route) => route.fulfill(broken), { times: 2 });
      await tab.route(/\/api\/v1\/overview/, (route) => route.fulfill(cut), { times: 1 });
      await tab.route(/\/api\/v1\/conversations\//, (route) => route.fulfill(broken), { times: 1 });
      await tab.route(/\/api\/v1\/changes/, (route) => route.fulfill(cut), { times: 1 });
      browser.pages.at(-1).mayFail = true;
    });
    await bad.untilSays('Said before', 'A scripted answer.');
    await bad.say('Said after');
    await page.untilSays('Said after', 'A scripted answer.');
  });

browserTest('a link to a research that is gone says so, and is no dead end',
  async (t, browser) => {
    const { aside, person } = await stage(t, browser);
    const page = await browser.open(person, aside, '#run=run_none');
    await page.tab.locator('#panel').getByText('This does not exist, or no longer.').waitFor();
    await page.say('On we go');
    await page.untilSays('On we go', 'A scripted answer.');
    await page.tab.locator('#panel').getByText('No research in this conversation').waitFor();
  });

browserTest('a conversation that cannot be read is read when the network is back',
  async (t, browser) => {
    const { person, page } = await stage(t, browser);
    await page.say('Of the first');
    await page.untilAnswered('Of the first');
    await page.newConversation();
    await page.tab.reload();
    await page.row('Of the first').waitFor();
    page.mayFail = true;
    await person.setOffline(true);
    await page.row('Of the first').click();
    await page.tab.locator('.thread-error').waitFor();
    await person.setOffline(false);
    await page.untilSays('Of the first', 'A scripted answer.');
    await page.tab.locator('.thread-error').waitFor({ state: 'detached' });
  });

browserTest('a machine that slept asks anew, on another connection',
  async (t, browser) => {
    const { aside, person } = await stage(t, browser);
    await person.addInitScript(() => {
      globalThis.beats = [];
      const real = globalThis.setInterval;
      globalThis.setInterval = (run, ms) => {
        globalThis.beats.push(run);
        return real(run, ms);
      };
    });
    await browser.pages.pop().tab.close();
    const page = await browser.open(person, aside);
    await browser.untilHeld(1, [page]);
    const [before] = page.polls;
    await page.tab.evaluate(() => {
      const { now } = Date;
      Date.now = () => now() + 3600_000;
      globalThis.beats.forEach((run) => run());
    });
    await page.until(page.composer, () => !page.polls.has(before));
    await browser.untilHeld(1, [page]);
  });

browserTest('a draft is the same in two tabs, and gone from both when it is sent',
  async (t, browser) => {
    const { aside, person, page } = await stage(t, browser);
    const other = await browser.open(person, aside);
    await other.composer.waitFor();
    await page.composer.fill('Half a thought');
    const untilHolds = (text) => other.tab.waitForFunction((wanted) =>
      document.querySelector('.composer textarea').value === wanted, text);
    await untilHolds('Half a thought');
    await other.tab.reload();
    await other.composer.waitFor();
    await untilHolds('Half a thought');
    await page.composer.press('Enter');
    await page.untilAnswered('Half a thought');
    await untilHolds('');
  });

browserTest('code that does not load leaves a word of what can be done, for whoever waits',
  async (t, browser) => {
    const { aside, person, page } = await stage(t, browser);
    await page.composer.waitFor();
    assert.equal(await page.tab.locator('.unloaded').count(), 0);
    let isCut = true;
    const cut = await browser.open(person, aside, '', async (bad) => {
      bad.mayFail = true;
      await bad.tab.route(/\.js$/, (route) => (isCut ? route.abort() : route.fallback()));
    });
    const word = cut.tab.getByText('check the connection and reload the page');
    assert.equal(await word.isVisible(), false, 'not while it may still come');
    await cut.tab.evaluate(() => document.getAnimations().forEach((a) => a.finish()));
    await word.waitFor();
    await cut.assertAccessible('without code');
    isCut = false;
    await cut.tab.getByRole('link', { name: 'reload the page' }).click();
    await cut.composer.waitFor();
    assert.equal(await word.count(), 0);
  });

browserTest('a language that cannot be had leaves the one there is, and says so',
  async (t, browser) => {
    const { page } = await stage(t, browser);
    const select = page.tab.locator('.language select');
    await select.waitFor();
    page.mayFail = true;
    let isCut = true;
    await page.tab.route(/\/text\/zh/, (route) => (isCut ? route.abort() : route.fallback()));
    await select.selectOption('zh');
    await page.tab.getByText('The texts of this language could not be loaded.').waitFor();
    assert.equal(await select.inputValue(), 'en');
    isCut = false;
    await select.selectOption('zh');
    await page.tab.getByText('后台').first().waitFor();
    assert.equal(await select.inputValue(), 'zh');
    assert.equal(await page.tab.locator('.list-foot .refusal').count(), 0);
  });

browserTest('R24 R02 what hangs is said at once and explained when it takes long, and is done once',
  async (t, browser) => {
    const { model, aside, person } = await stage(t, browser);
    await browser.pages.pop().tab.close();
    for (let i = 0; i < 2; i++) {
      model.next('research', async (req, reply) => {
        reply.text('I look at it.');
        await reply.hold('under way');
      });
    }
    const page = await browser.open(person, aside, '', ({ tab }) => tab.addInitScript(() => {
      const real = globalThis.setTimeout;
      // What takes ten seconds takes until the test says so.
      const late = new Map();
      globalThis.setTimeout = (run, ms, ...more) => {
        const timer = real(run, ms, ...more);
        if (ms === 10000) {
          late.set(timer, run);
        }
        return timer;
      };
      globalThis.passTime = () => late.forEach((run, timer) => {
        clearTimeout(timer);
        late.delete(timer);
        run();
      });
    }));
    await page.choose('Background');
    await page.say('Look into tea');
    await page.openPanel();
    const card = page.card('tea');
    const passTime = () => page.tab.evaluate(() => globalThis.passTime());
    const writes = page.requests(/stop|adjustments/);

    const adjusting = await page.hang(/adjustments$/);
    await page.adjustBox('tea').fill('Green tea too');
    await page.adjustBox('tea').press('Enter');
    await card.getByText('Sending…').waitFor();
    await passTime();
    await card.getByText('cannot arrive twice').waitFor();
    assert.equal(await card.locator('.receipt').count(), 0, 'no receipt before the server said so');
    adjusting();
    await card.locator('.receipt').waitFor();
    await card.getByText('cannot arrive twice').waitFor({ state: 'detached' });

    const naming = await page.hang(/conversations\/conv_\d+$/);
    await page.tab.locator('.row').hover();
    await page.tab.locator('.rename-open').click();
    await page.tab.getByLabel('Title of the conversation').fill('Tea');
    await page.tab.getByLabel('Title of the conversation').press('Enter');
    await page.tab.getByText('Saving…').waitFor();
    await passTime();
    await page.tab.locator('.row').getByText('does not answer').waitFor();
    naming();
    await page.row('Tea').waitFor();

    const stopping = await page.hang(/stop$/);
    await card.getByRole('button', { name: 'Stop research' }).click();
    const again = card.getByRole('button', { name: 'Stopping…' });
    await again.click({ force: true });
    await passTime();
    await card.getByText('The stop is sent again by itself').waitFor();
    await page.assertAccessible('a stop that hangs');
    await page.assertInside('a stop that hangs');
    await page.picture('31-hanging');
    assert.equal(await card.getByText('You stopped it.').count(), 0);
    stopping();
    await card.getByText('You stopped it.').waitFor();
    assert.deepEqual(writes.map((w) => w.split('/').at(-1)), ['adjustments', 'stop']);
  });

browserTest('a passage goes when the number that it belongs to is drawn anew',
  async (t, browser) => {
    const { model, page } = await stage(t, browser);
    model.next('entry', async (req, reply) => {
      reply.text('As it says [1][2]');
      await reply.hold('more');
      reply.answer('(https://example.org/) and on.');
    });
    await page.say('Tell me');
    const passage = page.tab.locator('.passage');
    await page.prose('Tell me').locator('.cite').last().focus();
    await passage.getByText('There is no source 2.').waitFor();
    await (await model.held('more')).release();
    await page.until(page.prose('Tell me'), ([s]) => s.includes('and on'));
    await passage.waitFor({ state: 'detached' });
  });

browserTest('a key that is held down does a thing once',
  async (t, browser) => {
    const { model, page } = await stage(t, browser);
    for (let i = 0; i < 3; i++) { // one, and one after each adjustment
      model.next('research', async (req, reply) => {
        reply.text('I look at it.');
        await reply.hold('under way');
      });
    }
    await page.choose('Background');
    await page.say('Look into tea');
    await page.openPanel();
    const sent = page.requests(/adjustments|messages|conversations$/);
    const hold = async () => {
      for (let i = 0; i < 5; i++) {
        await page.tab.keyboard.down('Enter'); // from the second on, by itself
      }
      await page.tab.keyboard.up('Enter');
    };
    const box = page.adjustBox('tea');
    await box.fill('Green tea too');
    await hold();
    await page.card('tea').locator('.receipt').waitFor();
    await box.fill('And black tea');
    await page.card('tea').getByRole('button', { name: 'Send' }).focus();
    await hold();
    await page.until(page.card('tea').locator('.receipt'), (all) => all.length === 2);
    const close = page.tab.getByRole('button', { name: 'Close the research panel' });
    await close.focus();
    await hold();
    assert.equal(await page.tab.locator('#panel').count(), 0, 'the button behind it was not pressed');
    await page.choose('Auto');
    await page.composer.fill('A question');
    await hold();
    await page.untilAnswered('A question');
    assert.deepEqual(sent.map((s) => s.split('/').at(-1)), ['adjustments', 'adjustments', 'messages']);
  });

const WORD = 'Donaudampfschifffahrtsgesellschaft'.repeat(60);
const HOSTILE = [
  '<script>globalThis.hurt = 1</script><img src=x onerror="globalThis.hurt = 1">',
  `[link](javascript:globalThis.hurt=1) \u202Eesrever\u202C \u2067isolated`,
  WORD, `# ${WORD}`, `> ${WORD}`, `- ${WORD}`, `\`${WORD}\``,
  `| a | ${WORD} |\n|---|---|\n| ${WORD} | b |`, `[${WORD}](https://example.test/${WORD})`,
  `\`\`\`\n${'let x = "</code><script>globalThis.hurt = 1</script>";\n'.repeat(2000)}\`\`\``,
  `${'> '.repeat(5000)}deep`,
].join('\n\n');

browserTest('texts made to act or to break the page do neither, wherever they stand',
  async (t, browser) => {
    const { model, page } = await stage(t, browser);
    const bad = `<img src=x onerror="globalThis.hurt=1"> \u202E${WORD}`;
    // The parts that can be drawn, then one that breaks what draws.
    for (const [i, text] of [HOSTILE.slice(0, HOSTILE.lastIndexOf('\n\n')), HOSTILE].entries()) {
      model.next('entry', (req, reply) => reply.answer(text));
      await page.say(`${i} ${bad}`);
      await page.prose(`${i} `).getByText('globalThis.hurt').first().waitFor();
    }
    model.next('research', (req, reply) => reply.call(['ask_user', { question: bad }]));
    await page.choose('Background');
    await page.say(`2 ${bad}`);
    await page.answer('2 ').locator('.awaiting-question').waitFor();
    await page.openPanel();
    await page.tab.locator('#panel .awaiting-question').waitFor();
    await page.assertInside('wide');
    await page.picture('30-hostile');
    await page.tab.setViewportSize(PHONE);
    await page.assertInside('on a phone');
    assert.equal(await page.tab.evaluate(() => globalThis.hurt), undefined);
    assert.equal(await page.tab.locator('.answer script, .answer img, .question img, a[href^="javascript"]').count(), 0);
  });
