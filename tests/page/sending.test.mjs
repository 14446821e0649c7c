/** Messages on their way, while they are refused and the page is left. */
import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';

/** What the browser keeps. @type {Map<string, string>} */
const kept = new Map();
globalThis.localStorage = /** @type {any} */ ({
    getItem: (key) => kept.get(key) ?? null,
    setItem: (key, text) => kept.set(key, text),
    removeItem: (key) => kept.delete(key) });

const { createSending } = await import('../../static/js/sending.js');
const { clearDraft, hearDraft, keyed, peekDraft, rereadDrafts, write } = await import(
    '../../static/js/drafts.js');
const { Store } = await import('../../static/js/store.js');
const { conversation, message } = await import('./things.mjs');
const ui = await import('../../static/js/ui.js');

/** @type {{ path: string, body: any, key: string,
 *     answer: (status: number, json?: object) => Promise<void> }[]} */
let asked = [];

const settle = async () => {
    for (let i = 0; i < 20; i += 1) {
        await new Promise(setImmediate);
    }
};

globalThis.fetch = /** @type {any} */ ((url, { body, headers }) =>
    new Promise((done) => {
        asked.push({ path: url.pathname.split('/api/v1/')[1],
            body: JSON.parse(body), key: headers['Idempotency-Key'],
            answer: async (status, json = {}) => {
                done(new Response(JSON.stringify(json), { status }));
                await settle();
            } });
    }));

/** A page with its own memory of what it shows. */
function open(current = '') {
    const store = new Store();
    ui.current.value = current;
    const actions = createSending(store, /** @type {any} */ ({ reached() {} }),
        async (id) => { ui.current.value = id; });
    return { store, ...actions,
        rows: (id) => (store.pending.peek(id) ?? []).map((r) =>
            `${r.state} ${r.body}`),
        async say(text) {
            const place = ui.current.peek();
            write(place, text);
            const draft = keyed(place);
            clearDraft(place);
            actions.send(place, draft);
            await settle();
        } };
}

const made = (id) => ({ conversation: conversation({ id }), as_of: 1 });
const accepted = (id, body) => ({ as_of: 2,
    message: message(id, { body, conversation_id: 'conv_9' }) });
const full = { code: 'short_capacity_full', title: 'No place' };

beforeEach(() => {
    kept.clear();
    asked = [];
    ui.refusals.value = {};
    ['', 'conv_9'].forEach(clearDraft);
});

test('two first messages in a row make one conversation', async () => {
    const page = open();
    await page.say('first');
    await page.say('second');
    assert.deepEqual(asked.map((a) => a.path), ['conversations']);
    await asked[0].answer(201, made('conv_9'));
    assert.deepEqual(asked.slice(1).map((a) => [a.path, a.body.body]), [
        ['conversations/conv_9/messages', 'first'],
        ['conversations/conv_9/messages', 'second']]);
    assert.notEqual(asked[1].key, asked[2].key);
    assert.deepEqual(page.rows('conv_9'), ['sending first', 'sending second']);
    assert.deepEqual(page.rows(''), []);
    await asked[1].answer(202, accepted('msg_1', 'first'));
    await asked[2].answer(202, accepted('msg_2', 'second'));
    assert.deepEqual(page.rows('conv_9'), []);
    assert.equal(kept.size, 0, [...kept].join());
});

test('a title says about what, not what is to be done', async () => {
    for (const [text, title] of [
        ['research: How does WAL work?', 'How does WAL work?'],
        ['Deep research:\n\n tea\nand more', 'tea'], ['调研：茶', '茶'],
        ['Research:', 'Research:'], ['Research on tea', 'Research on tea']]) {
        asked = [];
        await open().say(text);
        assert.equal(asked[0].body.title, title);
        await asked[0].answer(201, made('conv_9'));
        assert.equal(asked[1].body.body, text, 'what is sent is verbatim');
        ui.current.value = '';
        clearDraft('conv_9');
    }
});

test('of two first messages that are refused neither is lost', async () => {
    const page = open();
    await page.say('first');
    await page.say('second');
    write('', 'third, being written');
    await asked[0].answer(422, { code: 'invalid', title: 'No' });
    assert.deepEqual(page.rows(''), ['refused first', 'refused second']);
    assert.equal(peekDraft('').text, 'third, being written');

    const again = open();
    await again.resume();
    assert.deepEqual(again.rows(''), ['refused first', 'refused second']);
    const [row] = again.store.pending.peek('');
    again.retry(row);
    await settle();
    assert.equal(asked.at(-1).path, 'conversations');
    await asked.at(-1).answer(201, made('conv_9'));
    assert.equal(asked.at(-1).path, 'conversations/conv_9/messages');
    assert.equal(asked.at(-1).key, row.key, 'its own key');
});

test('a refused message outlives the page, until it is sent or discarded', async () => {
    const page = open('conv_9');
    await page.say('too many');
    write('conv_9', 'being written');
    await asked[0].answer(429, full);
    assert.deepEqual(page.rows('conv_9'), ['refused too many']);

    const again = open('conv_9');
    await again.resume();
    await settle();
    assert.equal(asked.length, 1, 'it is not sent by itself');
    assert.deepEqual(again.rows('conv_9'), ['refused too many']);
    const [row] = again.store.pending.peek('conv_9');
    again.retry(row);
    again.retry(row);
    await settle();
    assert.equal(asked.length, 2, 'once, however often one clicks');
    assert.equal(asked[1].key, asked[0].key);
    await asked[1].answer(429, full);
    again.discard(row);

    const third = open('conv_9');
    await third.resume();
    assert.deepEqual(third.rows('conv_9'), []);
});

test('a refused message that goes back to the composer is there once', async () => {
    const page = open('conv_9');
    await page.say('too many');
    await asked[0].answer(429, full);
    assert.equal(peekDraft('conv_9').text, 'too many');
    assert.deepEqual(page.rows('conv_9'), []);
    const again = open('conv_9');
    await again.resume();
    assert.deepEqual(again.rows('conv_9'), []);
    assert.equal(keyed('conv_9').key, asked[0].key);
});

test('a draft follows what another tab writes and sends, not over what is written here',
    () => {
        const key = `aside:${new URL('../../static/',
            import.meta.url).pathname}:draft:conv_9`;
        /** @param {object | null} draft */
        const elsewhere = (draft) => {
            const oldValue = kept.get(key) ?? null;
            if (draft) {
                kept.set(key, JSON.stringify(draft));
            } else {
                kept.delete(key);
            }
            hearDraft({ key, oldValue });
        };
        elsewhere({ text: 'theirs' });
        assert.equal(peekDraft('conv_9').text, 'theirs');
        elsewhere({ text: 'theirs, longer', mode: 'deep' });
        assert.equal(peekDraft('conv_9').mode, 'deep');
        elsewhere(null);
        assert.equal(peekDraft('conv_9').text, '', 'it was sent');
        write('conv_9', 'mine');
        hearDraft({ key, oldValue: '{"text":"of before"}' });
        kept.delete(key);
        hearDraft({ key, oldValue: '{"text":"of before"}' });
        assert.equal(peekDraft('conv_9').text, 'mine');
        hearDraft({ key: null, oldValue: null });
        assert.equal(peekDraft('conv_9').text, 'mine', 'storage was cleared');
    });

test('a page that comes back shows what was written and sent meanwhile', () => {
    const place = `aside:${new URL('../../static/',
        import.meta.url).pathname}:draft:`;
    const { setItem } = globalThis.localStorage;
    write('', 'of before');
    write('conv_9', 'of before');
    kept.set(`${place}conv_9`, '{"text":"of another tab"}');
    kept.delete(place);
    globalThis.localStorage.setItem = () => { throw new Error('full'); };
    write('conv_8', 'not kept');
    globalThis.localStorage.setItem = setItem;
    rereadDrafts();
    assert.deepEqual(['', 'conv_9', 'conv_8'].map((at) => peekDraft(at).text),
        ['', 'of another tab', 'not kept']);
    clearDraft('conv_8');
});

test('what the browser kept and cannot be read does not stop a message', async () => {
    for (const odd of ['{}', '"x"', '[null]', '7', 'null', '[{"key":1}]', '{']) {
        for (const name of ['outbox', 'draft:conv_9']) {
            kept.set(`aside:${new URL('../../static/',
                import.meta.url).pathname}:${name}`, odd);
        }
        const page = open('conv_9');
        await page.resume();
        assert.equal(peekDraft('conv_9').text, '');
        asked = [];
        await page.say(`beside ${odd}`);
        assert.equal(asked.length, 1, odd);
    }
});
