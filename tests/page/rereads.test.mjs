/** Reads of a Run that lacks something: bounded, and begun anew. */
import assert from 'node:assert/strict';
import { test } from 'node:test';

import { applyConversation } from '../../static/js/apply.js';
import { createRereads } from '../../static/js/rereads.js';
import { Store } from '../../static/js/store.js';
import { answer, message, page, run, runRead } from './things.mjs';

/** The timers of this file do not wait. */
const inNoTime = (t) => {
    const real = globalThis.setTimeout;
    globalThis.setTimeout = (step, ms, ...more) => real(step, 0, ...more);
    t.after(() => { globalThis.setTimeout = real; });
};

test('what could not be read while the server was away is read when it is back',
    async (t) => {
        const real = globalThis.fetch;
        t.after(() => { globalThis.fetch = real; });
        let reads = 0;
        let isThere = false;
        globalThis.fetch = async () => {
            reads += 1;
            if (!isThere) {
                throw new TypeError('no network');
            }
            return Response.json(runRead(20, run({ state: 'completed',
                ended_at: 5, answer: answer(1, 2, 'one two') })));
        };
        inNoTime(t);
        const store = new Store();
        applyConversation(store, page(10, { messages: [message('msg_1')],
            runs: [run({ answer: answer(1, 1, 'one ') })] }));
        const rereads = createRereads(store, async () => false);

        await rereads.read('run_1');
        assert.equal(store.texts.peek('run_1')?.body, 'one ');
        const bound = reads;
        assert.equal(bound, 5);
        isThere = true;
        rereads.again();
        await rereads.read('run_1');
        assert.equal(store.texts.peek('run_1')?.body, 'one two');
        rereads.again();
        assert.equal(reads, bound + 1, 'one read was enough');
    });
