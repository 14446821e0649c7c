/** A browser that makes no notifications, and one that tells nothing of locks. */
import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';

/** What the browser keeps. @type {Map<string, string>} */
const kept = new Map();
/** What it shows. @type {string[]} */
let shown = [];
/** Whether it says no to a page that makes one. */
let isIllegal = false;
/** @type {() => Promise<any>} */
let query = async () => ({ held: [] });

/** @type {Record<string, any>} */
const browser = {
    localStorage: { getItem: (key) => kept.get(key) ?? null,
        setItem: (key, text) => kept.set(key, text),
        removeItem: (key) => kept.delete(key) },
    Notification: class {
        static permission = 'default';

        static requestPermission = async () => 'granted';

        constructor(title) {
            if (isIllegal) {
                throw new TypeError('Illegal constructor');
            }
            if (this.constructor.permission === 'granted') {
                shown.push(title);
            }
        }
    },
    navigator: { languages: ['en'], locks: { query: () => query() } },
    document: { visibilityState: 'hidden' },
    addEventListener() {},
};
for (const [name, value] of Object.entries(browser)) {
    Object.defineProperty(globalThis, name, { value, configurable: true });
}

const notify = await import('../../static/js/notify.js');
const { isWatched } = await import('../../static/js/watch.js');
const { run } = await import('./things.mjs');

const research = run({ kind: 'research', state: 'completed', title: 'Tea' });
const SEEN = `aside:${new URL('../../static/', import.meta.url).pathname}:seen`;

beforeEach(() => {
    kept.clear();
    shown = [];
    isIllegal = false;
    query = async () => ({ held: [] });
    browser.Notification.permission = 'default';
    notify.possible.value = true;
    notify.wanted.value = false;
});

test('a browser in which a page cannot make one is not asked for leave', async () => {
    isIllegal = true;
    assert.equal(await notify.toggle(), false);
    assert.deepEqual([notify.possible.value, notify.wanted.value, kept.size],
        [false, false, 0]);
});

test('that it cannot make one after all ends the wish, and hurts nothing', async () => {
    browser.Notification.permission = 'granted';
    assert.equal(await notify.toggle(), true);
    await notify.tell(research, () => {});
    assert.deepEqual(shown, ['Tea']);
    isIllegal = true;
    await notify.tell(research, () => {});
    assert.deepEqual([notify.possible.value, notify.wanted.value, kept.size],
        [false, false, 0]);
});

test('whoever looks at another tab is not told; a browser that does not say '
    + 'who looks, is', async () => {
    browser.Notification.permission = 'granted';
    await notify.toggle();
    query = async () => ({ held: [{ name: SEEN }] });
    assert.equal(await isWatched(), true);
    await notify.tell(research, () => {});
    assert.deepEqual(shown, []);
    for (const odd of [() => Promise.reject(new DOMException('no',
        'SecurityError')), async () => ({})]) {
        query = odd;
        assert.equal(await isWatched(), false);
        await notify.tell(research, () => {});
    }
    assert.deepEqual(shown, ['Tea', 'Tea']);
});
