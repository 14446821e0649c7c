/** The store under reads and changes that come late, twice, or not at all. */
import assert from 'node:assert/strict';
import { test } from 'node:test';

import { applyAccepted, applyChanges, applyConversation, applyOverview,
    applyRunRead } from '../../static/js/apply.js';
import { Store } from '../../static/js/store.js';
import { answer, changes, conversation, handoff, message, page, part, run,
    runRead, updated } from './things.mjs';

const text = (store, id = 'run_1') => store.texts.peek(id)?.body;
const rows = (store) => {
    const { order, extra, held } = store.threads.peek('conv_1');
    return [...order.filter((m) => !held.includes(m)), ...extra];
};

/** A store that shows run_1 with the text of two parts, as of 10. */
function started() {
    const store = new Store();
    applyConversation(store, page(10, { messages: [message('msg_1')],
        runs: [run({ answer: answer(1, 2, 'one two ') })] }));
    return store;
}

test('R05 parts are applied once, in order', () => {
    const store = started();
    const reply = changes([part(11, 3, 'three '), part(12, 4, 'four')]);
    applyChanges(store, reply);
    applyChanges(store, reply);
    assert.equal(text(store), 'one two three four');
});

test('R05 a part that a read already has is not applied again', () => {
    const store = started();
    applyChanges(store, changes([part(9, 2, 'two '), part(10, 3, 'never')]));
    assert.equal(text(store), 'one two ');
});

test('R05 a gap is seen, and a read closes it with what came meanwhile', () => {
    const store = started();
    const { touched } = applyChanges(store, changes([part(14, 5, 'five ')]));
    assert.deepEqual(touched, ['run_1']);
    assert.equal(text(store), 'one two ');

    applyChanges(store, changes([part(15, 6, 'six')]));
    applyRunRead(store, runRead(13, run({ answer:
        answer(1, 4, 'one two three four ') })));
    assert.equal(text(store), 'one two three four five six');
    assert.deepEqual(applyChanges(store, changes([], 16)).touched, []);
});

test('R05 a read that does not reach the gap leaves it seen', () => {
    const store = started();
    applyChanges(store, changes([part(14, 5, 'five ')]));
    applyRunRead(store, runRead(11, run({ answer:
        answer(1, 3, 'one two three ') })));
    const { touched } = applyChanges(store,
        changes([updated(16, run({ answer: answer(1, 5) }))]));
    assert.deepEqual(touched, ['run_1']);
});

test('R05 a new revision replaces the text, late parts of the old are lost',
    () => {
        const store = started();
        applyChanges(store, changes([
            part(11, 1, 'anew ', { revision: 2 }), part(12, 3, 'old'),
            part(13, 2, 'again', { revision: 2 })]));
        assert.equal(text(store), 'anew again');
    });

test('R05 a revision that begins without text clears the old one', () => {
    const store = started();
    applyChanges(store, changes([updated(11, run({ answer: answer(2, 0) }))]));
    assert.equal(text(store), '');
});

test('an old read that returns last changes nothing', () => {
    const store = started();
    applyChanges(store, changes([part(11, 3, 'three'), updated(12, run({
        state: 'completed', ended_at: 2, answer: answer(1, 3) }))]));
    applyConversation(store, page(9, { messages: [message('msg_1')],
        runs: [run({ answer: answer(1, 1, 'one ') })] }));
    applyRunRead(store, runRead(8, run({ answer: answer(1, 1, 'one ') })));
    assert.equal(text(store), 'one two three');
    assert.equal(store.run('run_1').state, 'completed');
    assert.deepEqual(store.active.peek(), []);
});

test('a read as new as what is shown may replace it', () => {
    const store = started();
    applyRunRead(store, runRead(10, run({ progress: 'reading',
        answer: answer(1, 2, 'one two ') })));
    assert.equal(store.run('run_1').progress, 'reading');
});

test('a change shows what its reply saw; an older read cannot undo it', () => {
    const store = started();
    // Rendered when the reply was made: at 20, not at 11.
    applyChanges(store, changes([updated(11, run({ state: 'completed',
        ended_at: 2, answer: answer(1, 2) }))], 20));
    applyRunRead(store, runRead(15, run({ answer: answer(1, 2, 'one two ') })));
    assert.equal(store.run('run_1').state, 'completed');
});

test('a replay of the feed changes nothing', () => {
    const store = started();
    const all = changes([
        { seq: 11, kind: 'message.created', message: message('msg_2') },
        { seq: 12, kind: 'run.created', run_id: 'run_2', run: run({ id: 'run_2',
            message_id: 'msg_2' }) },
        part(13, 1, 'answer', { run_id: 'run_2' }),
        { seq: 14, kind: 'handoff.updated', handoff: handoff() }]);
    applyChanges(store, all);
    const { news } = applyChanges(store, all);
    assert.deepEqual(news, []);
    assert.deepEqual(rows(store), ['msg_1', 'msg_2']);
    assert.deepEqual(store.runsOf.peek('msg_2'), ['run_2']);
    assert.deepEqual(store.handoffsOf.peek('msg_1'), ['hand_1']);
    assert.equal(text(store, 'run_2'), 'answer');
});

test('R03 a later question that finishes first stays under its own question',
    () => {
        const store = started();
        // Every change shows its thing as it was when the reply was made.
        const second = run({ id: 'run_2', message_id: 'msg_2', ended_at: 2,
            state: 'completed', answer: answer(1, 1) });
        const { news, touched } = applyChanges(store, changes([
            { seq: 11, kind: 'message.created', message: message('msg_2') },
            { seq: 12, kind: 'run.created', run_id: 'run_2', run: second },
            part(13, 1, 'second', { run_id: 'run_2' }),
            updated(14, second),
            part(15, 3, 'three')]));
        assert.deepEqual(news.map((n) => n.run.id), ['run_2']);
        assert.deepEqual(touched, []);
        assert.deepEqual(store.runsOf.peek('msg_1'), ['run_1']);
        assert.deepEqual(store.runsOf.peek('msg_2'), ['run_2']);
        assert.equal(text(store), 'one two three');
        assert.equal(text(store, 'run_2'), 'second');
        assert.deepEqual(store.active.peek(), ['run_1']);
    });

test('history replaces the temporary row before streaming ends', () => {
    const store = new Store();
    const row = { key: 'k', conversation: 'conv_1', body: 'text of msg_1',
        mode: 'auto', state: 'sending', detail: '' };
    store.putPending(row);
    // A read comes between: it has the message, and half of the answer.
    applyConversation(store, page(10, { messages: [message('msg_1')],
        runs: [run({ answer: answer(1, 1, 'one ') })] }));
    applyAccepted(store, { as_of: 5, message: message('msg_1'),
        run: run({ answer: answer(1, 0, '') }) }, 'k');
    applyChanges(store, changes([part(11, 2, 'two')]));
    assert.deepEqual(store.pending.peek('conv_1'), []);
    assert.deepEqual(rows(store), ['msg_1']);
    assert.equal(text(store), 'one two');
});

test('B-10 a sent row is matched by its key, and shown once', () => {
    const store = started();
    const row = { conversation: 'conv_1', body: 'same text', mode: 'auto',
        state: 'sending', detail: '' };
    store.putPending({ ...row, key: 'a' });
    store.putPending({ ...row, key: 'b' });
    // The feed is faster than the replies. Which row is it? Nobody knows yet.
    applyChanges(store, changes([
        { seq: 11, kind: 'message.created', message: message('msg_2') },
        { seq: 12, kind: 'message.created', message: message('msg_3') }]));
    assert.deepEqual(rows(store), ['msg_1']);

    applyAccepted(store, { as_of: 12, message: message('msg_3') }, 'b');
    assert.deepEqual(store.pending.peek('conv_1').map((r) => r.key), ['a']);
    assert.deepEqual(rows(store), ['msg_1', 'msg_3']);
    applyAccepted(store, { as_of: 12, message: message('msg_2') }, 'a');
    assert.deepEqual(rows(store), ['msg_1', 'msg_2', 'msg_3']);
});

// langgraphjs PR #2692
test('B-10 what the server stores of a message wins, in whatever order', () => {
    const store = started();
    store.putPending({ key: 'a', conversation: 'conv_1', body: 'text of msg_2',
        mode: 'auto', state: 'sending', detail: '' });
    applyChanges(store, changes([{ seq: 14, kind: 'message.created',
        message: message('msg_2', { run_id: 'run_2', handoff_ids: ['hand_1'],
            created_at: 7 }) }]));
    // The reply to the sending was made before, and comes after.
    applyAccepted(store, { as_of: 12, message: message('msg_2') }, 'a');
    assert.deepEqual(store.pending.peek('conv_1'), []);
    assert.deepEqual(rows(store), ['msg_1', 'msg_2']);
    const { value } = store.messages.peek('msg_2');
    assert.deepEqual([value.run_id, value.handoff_ids, value.created_at],
        ['run_2', ['hand_1'], 7]);
});

test('messages of others that came while sending are shown after it', () => {
    const store = started();
    store.putPending({ key: 'a', conversation: 'conv_1', body: 'x',
        mode: 'auto', state: 'sending', detail: '' });
    applyChanges(store, changes([
        { seq: 11, kind: 'message.created', message: message('msg_2') }]));
    store.dropPending('conv_1', 'a');
    assert.deepEqual(rows(store), ['msg_1', 'msg_2']);
});

test('replies that come in the wrong order do not decide the order', () => {
    const store = started();
    applyAccepted(store, { as_of: 12, message: message('msg_3') }, 'b');
    applyAccepted(store, { as_of: 11, message: message('msg_2') }, 'a');
    applyChanges(store, changes([
        { seq: 11, kind: 'message.created', message: message('msg_2') },
        { seq: 12, kind: 'message.created', message: message('msg_3') }]));
    assert.deepEqual(rows(store), ['msg_1', 'msg_2', 'msg_3']);
});

test('a read keeps what came after it, and older pages before it', () => {
    const store = started();
    applyConversation(store, page(10, { messages: [message('msg_0')],
        has_more: true }), 'msg_1');
    applyChanges(store, changes([
        { seq: 12, kind: 'message.created', message: message('msg_2') }]));
    applyConversation(store, page(11, { messages: [message('msg_1')],
        has_more: true }));
    assert.deepEqual(rows(store), ['msg_0', 'msg_1', 'msg_2']);
    assert.equal(store.threads.peek('conv_1').hasMore, true);
});

test('an older page that comes twice, late or of before a reset keeps the order', () => {
    const store = started();
    const older = (id, before, more) => applyConversation(store,
        page(10, { messages: [message(id)], has_more: more }), before);
    older('msg_0b', 'msg_1', true);
    older('msg_0a', 'msg_0b', false);
    older('msg_0b', 'msg_1', true);
    assert.deepEqual(rows(store), ['msg_0a', 'msg_0b', 'msg_1']);
    assert.equal(store.threads.peek('conv_1').hasMore, false);

    store.clear();
    applyConversation(store, page(10, { messages: [message('msg_1')],
        has_more: true }));
    older('msg_0a', 'msg_0b', false);
    assert.deepEqual(rows(store), ['msg_1'], 'no gap in what is shown');
    assert.equal(store.threads.peek('conv_1').hasMore, true);
});

test('changes of a conversation that was never read are not lost', () => {
    const store = new Store();
    applyChanges(store, changes([
        { seq: 12, kind: 'message.created', message: message('msg_2') },
        { seq: 13, kind: 'run.created', run_id: 'run_2',
            run: run({ id: 'run_2', message_id: 'msg_2' }) },
        part(14, 1, 'yes', { run_id: 'run_2' })]));
    // This read was made before, and comes after.
    applyConversation(store, page(11, { messages: [message('msg_1')] }));
    assert.deepEqual(rows(store), ['msg_1', 'msg_2']);
    assert.equal(text(store, 'run_2'), 'yes');
});

test('an ended Run whose text lags behind is to be read again', () => {
    const store = started();
    const end = run({ state: 'completed', ended_at: 2, answer: answer(1, 4) });
    assert.deepEqual(applyChanges(store, changes([updated(11, end)])).touched,
        ['run_1']);
    applyRunRead(store, runRead(12, { ...end,
        answer: answer(1, 4, 'one two three four') }));
    assert.equal(text(store), 'one two three four');
});

test('receipts are updated in place and told once', () => {
    const store = started();
    const first = applyChanges(store, changes([{ seq: 11,
        kind: 'handoff.updated', handoff: handoff() }]));
    const second = applyChanges(store, changes([{ seq: 12,
        kind: 'handoff.updated', handoff: handoff({ state: 'handed',
            handed_at: 5 }) }]));
    applyAccepted(store, { as_of: 11, handoff: handoff() });
    assert.equal(first.news.length, 1);
    assert.deepEqual(second.news.map((n) => n.handoff.state), ['handed']);
    assert.deepEqual(store.handoffsOf.peek('msg_1'), ['hand_1']);
    assert.equal(store.handoffs.peek('hand_1').value.state, 'handed');
});

test('tool calls and sources that came after a read stay', () => {
    const store = started();
    const call = { id: 'call_2', run_id: 'run_1', name: 'note', state: 'done' };
    applyChanges(store, changes([{ seq: 12, kind: 'tool_call.updated',
        run_id: 'run_1', tool_call: call }]));
    applyRunRead(store, runRead(11, run({ answer: answer(1, 2, 'one two ') }), {
        tool_calls: [{ id: 'call_1', run_id: 'run_1', state: 'done' },
            { ...call, state: 'sent' }] }));
    assert.deepEqual(store.details.peek('run_1').calls
        .map(({ value }) => [value.id, value.state]),
    [['call_1', 'done'], ['call_2', 'done']]);
});

test('a deleted conversation is not revived by a late read', () => {
    const store = new Store();
    applyOverview(store, { as_of: 5, feed: 'f', account: 'me',
        conversations: [conversation()], runs: [] });
    applyChanges(store, changes([{ seq: 6, kind: 'conversation.deleted',
        conversation_id: 'conv_1' }]));
    applyOverview(store, { as_of: 5, feed: 'f', account: 'me',
        conversations: [conversation()], runs: [] });
    assert.deepEqual(store.list(), []);
});

test('after a reset nothing of before is left, what waits to be sent is', () => {
    const store = started();
    store.putPending({ key: 'a', conversation: 'conv_1', body: 'x',
        mode: 'auto', state: 'sending', detail: '' });
    store.clear();
    assert.equal(store.runs.peek('run_1'), undefined);
    assert.equal(text(store), undefined);
    assert.equal(store.threads.peek('conv_1'), undefined);
    assert.equal(store.pending.peek('conv_1').length, 1);
    // The new database counts from the start again: its reads are taken.
    applyConversation(store, page(2, { feed: 'g',
        messages: [message('msg_1')], runs: [run({ answer:
            answer(1, 1, 'other') })] }));
    assert.equal(text(store), 'other');
});

test('after a reset a message on its way is still shown once', () => {
    const store = started();
    store.putPending({ key: 'a', conversation: 'conv_1', body: 'text of msg_2',
        mode: 'auto', state: 'sending', detail: '' });
    store.clear();
    const messages = [message('msg_1'), message('msg_2'), message('msg_3')];
    applyConversation(store, page(20, { messages }));
    assert.deepEqual(rows(store), ['msg_1', 'msg_3']);
    // A further read changes nothing of it.
    applyConversation(store, page(21, { messages }));
    assert.deepEqual(rows(store), ['msg_1', 'msg_3']);
    applyAccepted(store, { as_of: 19, message: message('msg_2') }, 'a');
    assert.deepEqual(rows(store), ['msg_1', 'msg_2', 'msg_3']);
    assert.deepEqual(store.pending.peek('conv_1'), []);
});

test('an older message of the same text is not taken for the one on its way',
    () => {
        const store = started();
        store.putPending({ key: 'a', conversation: 'conv_1',
            body: 'text of msg_1', mode: 'auto', state: 'sending', detail: '' });
        applyConversation(store, page(20, { messages: [message('msg_1')] }));
        assert.deepEqual(rows(store), ['msg_1']);
    });

test('what was held back for a message is shown when that is refused', () => {
    const store = started();
    const row = { key: 'a', conversation: 'conv_1', body: 'x', mode: 'auto',
        state: 'sending', detail: '' };
    store.putPending(row);
    applyChanges(store, changes([
        { seq: 11, kind: 'message.created', message: message('msg_2') }]));
    assert.deepEqual(rows(store), ['msg_1']);
    store.putPending({ ...row, state: 'refused', detail: 'full' });
    assert.deepEqual(rows(store), ['msg_1', 'msg_2']);
});

test('R32 an end and a receipt are told once, whoever brings them', () => {
    const store = started();
    const told = [];
    store.onNews = (news) => told.push(...news.map((n) =>
        (n.kind === 'run' ? n.run.state : n.handoff.state)));
    const end = run({ state: 'completed', ended_at: 2,
        answer: answer(1, 2, 'one two ') });
    applyAccepted(store, { as_of: 11, handoff: handoff() });
    applyRunRead(store, runRead(13, end, { handoffs: [handoff({
        state: 'handed', handed_at: 5 })] }));
    assert.deepEqual(told, ['received', 'completed', 'handed']);
    const { news } = applyChanges(store, changes([
        { seq: 11, kind: 'handoff.updated', handoff: handoff() },
        updated(12, end)]));
    assert.deepEqual(news, []);
    // What was so when the page was opened is no news.
    applyConversation(store, page(14, { messages: [message('msg_2')],
        runs: [run({ ...end, id: 'run_2', message_id: 'msg_2' })],
        handoffs: [handoff({ id: 'hand_2' })] }));
    assert.equal(told.length, 3);
});
