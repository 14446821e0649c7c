/** Where one goes while what was asked for before is still on its way. */
import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';

import { signal } from '@preact/signals';

import { createActions } from '../../static/js/actions.js';
import { ApiError } from '../../static/js/api.js';
import { applyConversation, applyRunRead } from '../../static/js/apply.js';
import { Store } from '../../static/js/store.js';
import * as ui from '../../static/js/ui.js';
import { conversation, message, page, run, runRead } from './things.mjs';

const gone = () => Promise.reject(new ApiError(404, 'not_found', ''));

/** @param {object} [fake]  what is read of the server */
function setUp(fake = {}) {
    const store = new Store();
    const sync = { link: signal({ state: 'live' }), current: '', reached() {},
        readConversation: async (id) => applyConversation(store,
            page(5, { conversation: conversation({ id }) })),
        readRun: async () => {}, ...fake };
    return { store, sync, actions: createActions(store,
        /** @type {any} */ (sync)) };
}

beforeEach(() => {
    for (const [cell, value] of [[ui.current, ''], [ui.panelRun, ''],
        [ui.panelOpen, false], [ui.openError, ''], [ui.showMessage, ''],
        [ui.refusals, {}]]) {
        cell.value = value;
    }
});

test('a Run that comes late does not lead away from where one went', async () => {
    let come = () => {};
    const { store, actions } = setUp({ readRun: () => new Promise((done) => {
        come = () => {
            applyRunRead(store, runRead(5, run({ conversation_id: 'conv_a' })));
            done(undefined);
        };
    }) });
    const opening = actions.openRun('run_1');
    await actions.open('conv_b');
    come();
    await opening;
    assert.deepEqual([ui.current.value, ui.panelRun.value], ['conv_b', '']);
    await actions.openRun('run_1');
    assert.deepEqual([ui.current.value, ui.panelRun.value],
        ['conv_a', 'run_1']);
});

test('that a Run is gone is said, and hides nothing', async () => {
    const { sync, actions } = setUp();
    await actions.open('conv_b');
    await actions.openRun('run_none');
    assert.equal(ui.current.value, 'conv_b');
    assert.equal(ui.refusals.value.panel, 'error.404');
    assert.equal(ui.openError.value, '');
    sync.link.value = { state: 'reconnecting' };
    await actions.openRun('run_none');
    assert.equal(ui.refusals.value.panel, 'error.no_connection');
    await actions.open('');
    assert.equal(ui.refusals.value.panel, undefined);
});

test('older messages that cannot be read do not hide those that are there',
    async () => {
        const { store, actions } = setUp({ readConversation: async (id,
            before) => (before ? gone() : applyConversation(store,
            page(5, { conversation: conversation({ id }), has_more: true,
                messages: [message('msg_2')] }))) });
        await actions.open('conv_1');
        await actions.show('conv_1', 'msg_1');
        assert.equal(ui.openError.value, '');
        assert.ok(ui.refusals.value['older:conv_1']);
        assert.equal(ui.showMessage.value, '', 'nobody waits for it');
        await actions.show('conv_1', 'msg_2');
        assert.equal(ui.showMessage.value, 'msg_2');
    });

test('a conversation that could not be read is read when the server is back',
    async () => {
        let reads = 0;
        const { store, actions } = setUp({ readConversation: (id) => {
            reads += 1;
            if (reads === 1) {
                return gone();
            }
            applyConversation(store, page(5,
                { conversation: conversation({ id }) }));
            return Promise.resolve();
        } });
        await actions.open('conv_1');
        assert.notEqual(ui.openError.value, '');
        await actions.again();
        assert.equal(ui.openError.value, '');
        assert.ok(store.threads.peek('conv_1')?.loaded);
        await actions.again();
        assert.equal(reads, 2);
    });
