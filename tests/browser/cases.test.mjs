// cases.test.mjs - what users of comparable pages lost by a reload, a switch, a
// second view or an unlucky order of replies. Each test names the report.

import assert from 'node:assert/strict';

import { browserTest, stage } from './browser.mjs';

const QUESTION = 'Tell me slowly';

/** An answer that begins, waits for the test, and ends. */
function slowly(model, begin = 'It begins', end = ' and it ends.', name = 'slow') {
  model.next('entry', async (req, reply) => {
    if (begin) {
      reply.text(begin);
    } else {
      reply.head();
    }
    await reply.hold(name);
    reply.answer(end);
  });
  return async () => (await model.held(name)).release();
}

/** A research that goes on until the test lets it end. */
function research(model, name = 'research') {
  model.next('research', async (req, reply) => {
    reply.text('Looking');
    await reply.hold(name);
    reply.report('It is done.');
  });
  return async () => (await model.held(name)).release();
}

const stored = async (aside, where) => (await aside.api('GET', where)).json;

/** Go to another conversation, and come back. */
async function away(page, title, meanwhile = async () => {}) {
  await page.newConversation();
  assert.equal(await page.exchanges.count(), 0);
  await meanwhile();
  await page.row(title).click();
}

// open-webui #2647, #7884, #6172, #7380, #11564, #8777; LibreChat #13335
browserTest('A-1 A-5 who leaves a running answer finds it, and its Stop, again',
  async (t, browser) => {
    const { model, aside, page } = await stage(t, browser);
    const finish = slowly(model);
    await page.say(QUESTION);
    await page.untilSays(QUESTION, 'It begins');
    await away(page, QUESTION);
    await page.untilSays(QUESTION, 'It begins');
    await page.stopButton(QUESTION).waitFor();

    // Another device sees the same, and can stop it.
    const device = await browser.open(await browser.newPerson(), aside, await page.address());
    await device.untilSays(QUESTION, 'It begins');
    await device.stopButton(QUESTION).click();
    await page.answer(QUESTION).getByText('You stopped it.').waitFor();
    await page.untilSays(QUESTION, 'It begins');
    await finish();
    assert.deepEqual((await stored(aside, '/runs')).runs.map((r) => r.state), ['stopped']);
  });

browserTest('A-2 A-4 question and answer are kept though nobody looks',
  async (t, browser) => {
    const { model, aside, person, page } = await stage(t, browser);
    // Left for another conversation before the first word.
    const finish = slowly(model, '', 'All of it.');
    await page.say('The first question');
    await page.stopButton('The first question').waitFor();
    await away(page, 'The first question', async () => {
      await finish();
      await aside.until((s) => [...s.runs.values()][0]?.state === 'completed');
    });
    await page.untilSays('The first question', 'All of it.');

    // The page is closed before the model has said anything.
    const second = slowly(model, '', 'All of this.', 'second');
    await page.say('The second question');
    await model.received((r) => r.n === 2);
    const { hash } = page;
    await page.tab.close();
    await second();
    await aside.until((s) => [...s.runs.values()].every((r) => r.state === 'completed'));
    const again = await browser.open(person, aside, hash);
    await again.untilSays('The second question', 'All of this.');
    await again.untilSays('The first question', 'All of it.');
  });

// open-webui #29760; 'settings leak' screenpipe #4082
browserTest('A-6 I-9 drafts and the choice of how to answer belong to their conversation',
  async (t, browser) => {
    const { model, page } = await stage(t, browser);
    const finish = slowly(model);
    await page.say(QUESTION);
    await page.untilSays(QUESTION, 'It begins');
    await page.choose('Deep');
    await page.composer.fill('Half a thought,\nof two lines');
    await away(page, QUESTION, async () => {
      assert.equal(await page.composer.inputValue(), '');
      await page.tab.locator('.mode.chosen').getByText('Auto', { exact: true }).waitFor();
      await page.composer.fill('A thought for later');
    });
    const unchanged = async () => {
      await page.untilSays(QUESTION, 'It begins');
      assert.equal(await page.composer.inputValue(), 'Half a thought,\nof two lines');
      await page.tab.locator('.mode.chosen').getByText('Deep', { exact: true }).waitFor();
    };
    await unchanged();
    await page.tab.reload();
    await unchanged();

    // What is sent after a switch goes where one is.
    await page.newConversation();
    assert.equal(await page.composer.inputValue(), 'A thought for later');
    await page.composer.press('Enter');
    await page.untilAnswered('A thought for later');
    assert.equal(await page.exchanges.count(), 1);
    await finish();
    await page.row(QUESTION).click();
    await page.untilSays(QUESTION, 'It begins and it ends.');
    assert.equal(await page.exchanges.count(), 1);
    assert.equal(await page.composer.inputValue(), 'Half a thought,\nof two lines');
  });

// dp-archive/archive #176
browserTest('A-9 an adjustment and its receipt survive a reload, and a draft of one too',
  async (t, browser) => {
    const { model, page } = await stage(t, browser);
    const finish = research(model);
    await page.choose('Background');
    await page.say('Look into this');
    await model.received('research');
    const again = research(model, 'adjusted');
    await page.openPanel();
    const box = page.adjustBox('Look into this');
    await box.fill('Also look there');
    await box.press('Enter');
    await page.exchange('Also look there').getByText('Handed to the research model').waitFor();
    await box.fill('And not there');
    const ids = await page.messages();

    await page.tab.reload();
    await page.exchange('Also look there').getByText('Handed to the research model').waitFor();
    assert.deepEqual(await page.messages(), ids);
    await page.openPanel();
    await page.card('Look into this').locator('.receipt', { hasText: 'Also look there' })
      .getByText('Handed to the research model').waitFor();
    assert.equal(await page.adjustBox('Look into this').inputValue(), 'And not there');
    await Promise.all([finish(), again()]);
    await page.answer('Look into this').getByText('It is done.').waitFor();
  });

// vercel/ai #14688, cloudflare/agents #1733
browserTest('B-1 B-3 a feed that tells everything again adds nothing',
  async (t, browser) => {
    const { model, page } = await stage(t, browser);
    const told = [];
    await page.rewrite(/\/changes\?/, (json) => {
      const changes = [...told, ...json.changes, ...json.changes];
      told.push(...json.changes);
      return { ...json, changes };
    });
    await page.tab.reload();
    const finish = slowly(model);
    await page.say(QUESTION);
    await page.untilSays(QUESTION, 'It begins');
    await page.say('Another question');
    await page.untilSays('Another question', 'A scripted answer.');
    await finish();
    await page.untilAnswered(QUESTION);
    await page.untilSays(QUESTION, 'It begins and it ends.');
    assert.equal(await page.exchanges.count(), 2);
  });

// vercel/ai #13863
browserTest('B-4 a Run is read once, however many views ask for it',
  async (t, browser) => {
    const { model, aside, person, page } = await stage(t, browser);
    const finish = research(model);
    await page.choose('Background');
    await page.say('Look into this');
    await model.received('research');
    const run = await page.answer('Look into this').getAttribute('data-run');
    let reads;
    let held;
    const other = await browser.open(person, aside, `#run=${run}`, async (tab) => {
      reads = tab.requests(/^runs\/\w+$/);
      held = await tab.hold(/\/runs\/\w+$/);
    });
    await held.held;
    await other.answer('Look into this').waitFor();
    for (let i = 0; i < 3; i++) {
      await other.answer('Look into this').getByRole('button', { name: /^Details/ }).click();
    }
    await other.openPanel();
    held.release();
    await other.card('Look into this').getByText('Activity').waitFor();
    assert.deepEqual(reads, [`GET runs/${run}`]);
    await finish();
  });

// tambo #2974, hermes-mobile #842, OpenHands #5358
browserTest('B-5 B-8 B-9 five reconnections: the same ids, and everything once',
  async (t, browser) => {
    const { model, person, page } = await stage(t, browser);
    await page.say('A question of before');
    await page.untilAnswered('A question of before');
    const finish = slowly(model, 'Nine tenths');
    await page.say(QUESTION);
    await page.untilSays(QUESTION, 'Nine tenths');
    const runs = () => page.tab.locator('.answer')
      .evaluateAll((all) => all.map((a) => a.dataset.run));
    const ids = [await page.messages(), await runs()];
    page.mayFail = true;
    for (let i = 0; i < 5; i++) {
      await person.setOffline(true);
      await page.notice.getByText('Reconnecting').waitFor();
      await person.setOffline(false);
      await page.notice.getByText('Reconnecting').waitFor({ state: 'detached' });
      assert.deepEqual([await page.messages(), await runs()], ids);
      await page.untilSays(QUESTION, 'Nine tenths');
    }
    await finish();
    await page.untilAnswered(QUESTION);
    await page.untilSays(QUESTION, 'Nine tenths and it ends.');
    assert.deepEqual([await page.messages(), await runs()], ids);
    await page.tab.reload();
    await page.untilSays(QUESTION, 'Nine tenths and it ends.');
    assert.deepEqual([await page.messages(), await runs()], ids);
  });

browserTest('R03 a later question whose answer comes first stands under its own',
  async (t, browser) => {
    const { model, page } = await stage(t, browser);
    const first = slowly(model, 'First', ' done.', 'first');
    await page.say('The first question');
    await page.untilSays('The first question', 'First');
    const second = slowly(model, 'Second', ' done.', 'second');
    await page.say('The second question');
    await page.untilSays('The second question', 'Second');
    await second();
    await page.untilAnswered('The second question');
    await page.untilSays('The second question', 'Second done.');
    await page.untilSays('The first question', 'First');
    await page.stopButton('The first question').waitFor();
    await first();
    await page.untilSays('The first question', 'First done.');
    await page.untilSays('The second question', 'Second done.');
  });

// ChatPulse #6, mailboxer #441, spreed #515
browserTest('I-1 quick messages keep one order; each row becomes its message once',
  async (t, browser) => {
    const { model, aside, page } = await stage(t, browser);
    await page.say('The opening');
    await page.untilAnswered('The opening');
    // The reply to the first comes last, when its answer has long begun.
    const finish = slowly(model);
    const { held, release } = await page.hold(/\/messages$/, 1);
    await page.say(QUESTION);
    await held;
    // It has come in, and begins, before the second is written.
    await model.received((r) => r.n === 2);
    await page.say('Right after it');
    await page.untilSays('Right after it', 'A scripted answer.');
    assert.equal(await page.exchanges.count(), 3);
    await page.exchange(QUESTION).getByText('Sending…').waitFor();
    release();
    await page.untilSays(QUESTION, 'It begins');
    await page.stopButton(QUESTION).waitFor();
    assert.equal(await page.exchanges.count(), 3);
    const ids = await page.messages();
    await finish();
    await page.untilSays(QUESTION, 'It begins and it ends.');
    const { messages } = await stored(aside, `/conversations/${(await page.address()).slice(6)}`);
    assert.deepEqual(ids, messages.map((m) => m.id));
    assert.deepEqual(messages.map((m) => m.body),
      ['The opening', QUESTION, 'Right after it']);
    await page.tab.reload();
    await page.untilSays(QUESTION, 'It begins and it ends.');
    assert.deepEqual(await page.messages(), ids);
  });

browserTest('R02 a message whose reply is lost is sent again with its key, and is one',
  async (t, browser) => {
    const { model, aside, page } = await stage(t, browser);
    page.mayFail = true;
    const keys = [];
    let again;
    const isAgain = new Promise((resolve) => { again = resolve; });
    await page.tab.route(/\/messages$/, async (route) => {
      keys.push(route.request().headers()['idempotency-key']);
      if (keys.length === 1) {
        await route.fetch();
        await aside.until((s) => [...s.runs.values()][0]?.state === 'completed');
        await route.abort();
      } else {
        again(route);
      }
    });
    await page.say(QUESTION);
    const route = await isAgain;
    // It was carried out long since; nobody knows that it is this one.
    assert.equal(await page.exchanges.count(), 1);
    await page.exchange(QUESTION).getByText('Sending…').waitFor();
    await route.continue();
    await page.untilSays(QUESTION, 'A scripted answer.');
    assert.deepEqual(keys, [keys[0], keys[0]]);
    assert.equal(await page.exchanges.count(), 1);
    assert.equal((await stored(aside, '/runs')).runs.length, 1);
    assert.equal(model.requests.length, 1);
  });

browserTest('R02 A-2 a reload while a message is on its way shows it once',
  async (t, browser) => {
    const { model, aside, page } = await stage(t, browser);
    const { held } = await page.hold(/\/messages$/, 1);
    await page.say(QUESTION);
    await held;
    const again = await page.hold(/\/messages$/, 1);
    await aside.until((s) => [...s.runs.values()][0]?.state === 'completed');
    await page.tab.reload();
    await page.untilSays(QUESTION, 'A scripted answer.');
    await again.held;
    assert.equal(await page.exchanges.count(), 1);
    again.release();
    await page.say('Another question');
    await page.untilSays('Another question', 'A scripted answer.');
    assert.equal(await page.exchanges.count(), 2);
    assert.equal(model.requests.length, 2);
  });

browserTest('R02 A-6 a reload before there is a conversation loses no first message',
  async (t, browser) => {
    const { model, aside, page } = await stage(t, browser);
    const { held } = await page.hold(/\/conversations$/, 1);
    await page.say(QUESTION);
    await held;
    await page.tab.reload();
    await page.untilSays(QUESTION, 'A scripted answer.');
    assert.equal(await page.exchanges.count(), 1);
    assert.equal((await stored(aside, '/overview')).conversations.length, 1);
    assert.equal(model.requests.length, 1);
    await page.tab.reload();
    await page.untilSays(QUESTION, 'A scripted answer.');
    assert.equal(model.requests.length, 1);
  });

// codewalk #48
browserTest('I-2 an old read that returns last takes nothing back',
  async (t, browser) => {
    const { model, aside, person, page } = await stage(t, browser);
    const finish = slowly(model);
    await page.say(QUESTION);
    await page.untilSays(QUESTION, 'It begins');

    // Reads of the conversation and of the Run, made now, come at the end.
    const other = await browser.open(person, aside);
    const reads = await other.hold(/\/conversations\/\w+\?limit=50$/);
    await other.row(QUESTION).click();
    await reads.held;
    const runs = await page.hold(/\/runs\/\w+$/);
    const run = await page.answer(QUESTION).getAttribute('data-run');
    await page.tab.evaluate((hash) => { location.hash = hash; }, `run=${run}`);
    await finish();
    await page.untilAnswered(QUESTION);
    await page.untilSays(QUESTION, 'It begins and it ends.');
    await page.say('A later question');
    await page.untilAnswered('A later question');

    reads.release();
    runs.release();
    for (const tab of [other, page]) {
      await tab.untilSays('A later question', 'A scripted answer.');
      await tab.untilSays(QUESTION, 'It begins and it ends.');
      assert.equal(await tab.stopButton(QUESTION).count(), 0);
      assert.equal(await tab.exchanges.count(), 2);
    }
  });

// lightdash #26088
browserTest('I-3 an ended answer that cannot be read yet is read again, a few times',
  async (t, browser) => {
    const { model, page } = await stage(t, browser);
    await page.rewrite(/\/changes\?/, (json) => ({ ...json,
      changes: json.changes.filter((c) => c.kind !== 'answer.part') }));
    let stale = 2;
    await page.rewrite(/\/runs\/\w+$/, (json) => {
      if (stale > 0) {
        stale -= 1;
        return { ...json, as_of: 1, run: { ...json.run, state: 'running', ended_at: null,
          answer: { ...json.run.answer, parts: 0, body: '' } } };
      }
      return json;
    });
    await page.tab.reload();
    const reads = page.requests(/^runs\/\w+$/);
    await page.say(QUESTION);
    await page.untilSays(QUESTION, 'A scripted answer.');
    assert.equal(await page.stopButton(QUESTION).count(), 0);
    await page.say('Another one');
    await page.untilSays('Another one', 'A scripted answer.');
    const first = reads.filter((where) => where === reads[0]);
    assert.equal(first.length, 3, `${reads}`);
    assert.equal(model.requests.length, 2, 'nothing was asked again');
  });

// a2aproject/A2A #1410, #1635
browserTest('I-8 what was written while a page was cut off comes, all of it, in order',
  async (t, browser) => {
    const { aside, person, page } = await stage(t, browser);
    await page.say('The opening');
    await page.untilAnswered('The opening');
    const conversation = (await page.address()).slice(6);
    page.mayFail = true;
    await person.setOffline(true);
    await page.notice.getByText('Reconnecting').waitFor();
    for (const body of ['One', 'Two', 'Three']) {
      const reply = await aside.api('POST', `/conversations/${conversation}/messages`, { body });
      assert.equal(reply.status, 202, reply.text);
    }
    await person.setOffline(false);
    await page.untilAnswered('Three');
    assert.deepEqual((await page.tab.locator('.question-body').allInnerTexts())
      .map((text) => text.split('\n').at(-1)), ['The opening', 'One', 'Two', 'Three']);
  });

// PageSpace #2299
browserTest('I-10 what is sent to a deleted conversation is refused, and kept',
  async (t, browser) => {
    const { aside, person, page } = await stage(t, browser);
    await page.say('To be deleted');
    await page.untilAnswered('To be deleted');
    // Another device, which does not hear of it yet.
    const late = await browser.open(await browser.newPerson(), aside, await page.address());
    await late.untilAnswered('To be deleted');
    const letNewsIn = await late.hold(/\/changes\?/);
    const other = await browser.open(person, aside, await page.address());
    await other.tab.getByRole('button', { name: 'Delete “To be deleted”' }).click();
    await other.tab.getByRole('button', { name: 'Delete for good' }).click();
    for (const tab of [page, other]) {
      await tab.row('To be deleted').waitFor({ state: 'detached' });
    }
    await page.tab.getByText('This conversation was deleted.').waitFor();

    await late.composer.fill('Into the void');
    await late.composer.press('Enter');
    await late.tab.locator('.composer .refusal').waitFor();
    assert.equal(await late.composer.inputValue(), 'Into the void');
    letNewsIn.release();
    await late.tab.getByText('This conversation was deleted.').waitFor();
    assert.equal(await late.composer.inputValue(), 'Into the void');
    assert.deepEqual((await stored(aside, '/runs')).runs, []);
    assert.deepEqual((await stored(aside, '/overview')).conversations, []);
  });
