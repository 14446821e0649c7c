// page.test.mjs - what one sees while an answer comes, and when it does not:
// the page over a scripted model.

import assert from 'node:assert/strict';
import { eventually } from '../support/harness.mjs';
import { browserTest, stage } from './browser.mjs';

const LINES = Array.from({ length: 80 }, (_, i) => `Line ${i}`).join('\n\n');

browserTest('Back and Forward go between conversations, and out of the panel',
  async (t, browser) => {
    const { page } = await stage(t, browser);
    const at = (hash) => page.tab.waitForFunction((h) => location.hash === h, hash);
    const panel = page.tab.locator('#panel .panel-head');
    await page.say('Of the first');
    await page.untilAnswered('Of the first');
    await eventually(() => page.hash.startsWith('#conv='));
    const first = page.hash;
    await page.newConversation();
    await page.choose('Background');
    await page.say('Look into tea');
    await page.answer('Look into tea').getByText('A scripted report.').waitFor();
    await eventually(() => page.hash.startsWith('#conv=') && page.hash !== first);
    const second = page.hash;
    const entries = await page.tab.evaluate(() => history.length);

    // Into the panel and out of it, by Back and by its button.
    await page.openPanel();
    await page.tab.goBack();
    await panel.waitFor({ state: 'detached' });
    assert.equal(page.hash, second);
    await page.answer('Look into tea').getByRole('button', { name: 'Details' }).click();
    await at(`#run=${await page.answer('Look into tea').getAttribute('data-run')}`);
    const run = page.hash;
    await page.tab.getByRole('button', { name: 'Close the research panel' }).click();
    await at(second);
    assert.equal(await panel.count(), 0);
    await page.tab.goForward();
    await at(run);
    await panel.waitFor();
    await page.tab.keyboard.press('Escape');
    await at(second);
    assert.equal(await page.tab.evaluate(() => history.length), entries + 1, 'one entry for all');

    // Between conversations.
    await page.row('Of the first').click();
    await page.untilSays('Of the first', 'A scripted answer.');
    await page.tab.goBack();
    await page.answer('Look into tea').waitFor();
    await page.tab.goBack();
    await page.untilSays('Of the first', 'A scripted answer.');
    assert.equal(page.hash, first);
    await page.tab.goForward();
    await page.tab.goForward();
    await at(first);
    await page.untilSays('Of the first', 'A scripted answer.');
    await page.tab.goBack();
    await page.answer('Look into tea').waitFor();
    await page.tab.reload();
    await page.answer('Look into tea').waitFor();
    await page.tab.goBack();
    await page.untilSays('Of the first', 'A scripted answer.');
  });

browserTest('between a telephone and a wide window the panel stands beside the conversation',
  async (t, browser) => {
    const { page } = await stage(t, browser);
    await page.choose('Background');
    await page.say('Look into tea');
    await page.answer('Look into tea').getByText('A scripted report.').waitFor();
    await page.openPanel();
    for (const width of [761, 900, 1024, 1180, 1360]) {
      await page.tab.setViewportSize({ width, height: 800 });
      const [main, aside] = await Promise.all(['.main', '#panel'].map((s) =>
        page.tab.locator(s).boundingBox()));
      assert.ok(main.x + main.width <= aside.x + 1, `nothing is hidden at ${width}`);
      assert.ok(main.width >= 400 && aside.width >= 340, `${main.width} and ${aside.width} at ${width}`);
      await page.assertInside(`panel at ${width}`);
    }
    await page.tab.setViewportSize({ width: 900, height: 800 });
    await page.picture('32-panel-beside');
    await page.tab.getByRole('button', { name: 'Conversations', exact: true }).click();
    await page.row('Look into tea').waitFor();
    await page.picture('33-list-over');
    await page.assertAccessible('the list over the conversation');
    await page.row('Look into tea').click();
    await page.row('Look into tea').waitFor({ state: 'hidden' });
    await page.tab.getByRole('button', { name: 'Close the research panel' }).click();
    await page.row('Look into tea').waitFor();
  });

browserTest('one stays at the end however late the page hears of a new size, and goes up at will',
  async (t, browser) => {
    const { model, page } = await stage(t, browser);
    model.next('entry', async (req, reply) => {
      reply.text(LINES);
      await reply.hold('more');
      reply.answer(LINES);
    });
    await page.say('Tell me at length');
    await page.until(page.prose('Tell me'), ([s]) => s?.includes('Line 79'));
    const left = () => page.tab.locator('.thread').evaluate(async (box) => {
      await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
      return box.scrollHeight - box.scrollTop - box.clientHeight;
    });
    await eventually(async () => await left() < 60);
    // The event comes before the observer has looked, as it may under load.
    await page.tab.locator('.thread').evaluate((box) => {
      box.parentElement.style.maxHeight = '200px';
      box.dispatchEvent(new Event('scroll'));
    });
    assert.ok(await left() < 60, 'smaller');
    await page.tab.locator('.thread').evaluate((box) => {
      box.parentElement.style.maxHeight = '';
      box.dispatchEvent(new Event('scroll'));
    });
    assert.ok(await left() < 60, 'larger');
    // Who goes up while it grows stays there.
    await page.tab.locator('.thread').evaluate((box) => {
      box.firstElementChild.append(Object.assign(document.createElement('p'),
        { textContent: 'more', style: 'height: 90px' }));
      box.scrollTop -= 400;
      box.dispatchEvent(new Event('scroll'));
    });
    assert.ok(await left() > 300, 'gone up');
    await (await model.held('more')).release();
    await page.untilAnswered('Tell me');
    assert.ok(await left() > 1000, 'it grew below');
    await page.tab.getByRole('button', { name: 'Go to the newest' }).click();
    assert.ok(await left() < 60, 'and back');
  });

/** Three pieces, between which the test looks at the page. */
const PIECES = ['The **first** piece,', ' then `the second`,', ' and the third. 第三片。'];
const WHOLE = 'The first piece, then the second, and the third. 第三片。';

async function inPieces(req, reply) {
  reply.text(PIECES[0]);
  await reply.hold('first');
  reply.text(PIECES[1]);
  await reply.hold('second');
  reply.answer(PIECES[2]);
}

browserTest('R05 an answer is shown as it comes, and a reload in the midst changes nothing',
  async (t, browser) => {
    const { model, aside, person, page } = await stage(t, browser);
    model.next('entry', inPieces);
    await page.say('Tell me in pieces');
    const prose = page.answer('Tell me in pieces').locator('.prose');

    await page.until(prose, ([s]) => s === 'The first piece,');
    (await model.held('first')).release();
    await page.until(prose, ([s]) => s === 'The first piece, then the second,');

    await page.tab.reload();
    await page.until(prose, ([s]) => s === 'The first piece, then the second,');
    const other = await browser.open(person, aside, await page.address());
    const theirs = other.answer('Tell me in pieces').locator('.prose');
    await page.until(theirs, ([s]) => s === 'The first piece, then the second,');

    (await model.held('second')).release();
    await page.until(prose, ([s]) => s === WHOLE);
    await page.until(theirs, ([s]) => s === WHOLE);
    await page.answer('Tell me in pieces').getByRole('button', { name: 'Stop' })
      .waitFor({ state: 'detached' });
    assert.equal(await prose.locator('strong').innerText(), 'first');

    const id = await page.answer('Tell me in pieces').getAttribute('data-run');
    const { json } = await aside.api('GET', `/runs/${id}`);
    assert.equal(json.run.state, 'completed');
    assert.equal(json.run.answer.body, PIECES.join(''));
    assert.equal(model.requests.length, 1);
  });

browserTest('R16 a message that found no place stays in the composer',
  async (t, browser) => {
    const { model, page } = await stage(t, browser, { 'short.limit': 1 });
    model.next('entry', async (req, reply) => {
      reply.text('Still at it');
      await reply.hold('busy');
      reply.answer('.');
    });
    await page.say('Occupy the only place');
    await page.answer('Occupy the only place').locator('.prose').waitFor();

    const refused = 'One question too many';
    await page.composer.fill(refused);
    await page.composer.press('Enter');
    const refusal = page.tab.locator('.composer .refusal');
    await refusal.waitFor();
    await page.pictures('08-refused');
    assert.equal(await page.composer.inputValue(), refused);
    assert.equal(await page.exchange(refused).count(), 0);

    // The same text goes through once there is room.
    (await model.held('busy')).release();
    await page.answer('Occupy the only place').getByRole('button', { name: 'Stop' })
      .waitFor({ state: 'detached' });
    await page.composer.press('Enter');
    await page.answer(refused).getByText('A scripted answer.').waitFor();
    await refusal.waitFor({ state: 'detached' });
    assert.equal(await page.composer.inputValue(), '');
  });

browserTest('R02 a failed answer can be asked again, as a message of its own',
  async (t, browser) => {
    const { model, aside, page } = await stage(t, browser);
    const keys = [];
    page.tab.on('request', (request) => {
      if (request.method() === 'POST' && request.url().endsWith('/messages')) {
        keys.push(request.headers()['idempotency-key']);
      }
    });
    model.next('entry', async (req, reply) => {
      reply.text('It begins well');
      await reply.hold('shown');
      reply.cut();
    });
    await page.say('Will this work?');
    const first = page.exchange('Will this work?').first();
    await first.getByText('It begins well').waitFor();
    (await model.held('shown')).release();
    await first.getByText('The model endpoint gave no whole answer.').waitFor();
    assert.match(await first.innerText(), /It begins well/, 'what came is kept');
    await page.pictures('09-failed');

    await first.getByRole('button', { name: 'Ask again' }).click();
    const second = page.exchange('Will this work?').nth(1);
    await second.getByText('A scripted answer.').waitFor();
    await first.getByText('The model endpoint gave no whole answer.').waitFor();
    assert.equal(new Set(keys).size, 2, `${keys}`);
    const { json } = await aside.api('GET', '/runs');
    assert.deepEqual(json.runs.map((run) => run.state).sort(), ['completed', 'failed']);
  });

browserTest('a research that ended unseen is marked until somebody looks',
  async (t, browser) => {
    const { page } = await stage(t, browser);
    await page.choose('Background');
    await page.say('Look into this');
    await page.answer('Look into this').getByText('A scripted report.').waitFor();
    await page.until(page.background, ([s]) => /finished/.test(s));
    await page.background.click();
    await page.card('Look into this').getByText('Completed').waitFor();
    await page.until(page.background, ([s]) => /idle/.test(s));
  });
