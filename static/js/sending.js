/**
 * sending.js - messages that a person sends: a first one makes its
 * conversation, a refused one goes back to where it was written.
 *
 * @import { Draft, Mode, Pending, Run } from './types.js'
 * @import { Store } from './store.js'
 * @import { Sync } from './sync.js'
 */
import * as api from './api.js';
import { applyAccepted } from './apply.js';
import { moveDraft, peekDraft, setDraft } from './drafts.js';
import { intoOutbox, outbox } from './keep.js';
import { adopt, me } from './owner.js';
import { deliver, forget, persist, refuse } from './send.js';
import * as ui from './ui.js';
import { attend } from './waiting.js';
import { why } from './words.js';

const TITLE_CHARS = 60;
/** What of a longer line is kept, and the part of a word after it. */
const CUT = /^(.{30,60})(?:\s\S*|(?<=[\u3000-\u9fff])[^\s\u3000-\u9fff]*)$/u;

/** What says only what is to be done, and not about what. */
const LABEL = /^\s*(?:(?:background |deep )?research|研究|调研)[:：]\s*(?=\S)/i;

/** A title from the first line of a text, cut between two words; where words
 *  have no spaces between them, anywhere. @param {string} text */
function titleFrom(text) {
    const line = text.replace(LABEL, '').trim().split('\n', 1)[0].trim();
    const chars = Array.from(line);
    if (chars.length <= TITLE_CHARS) {
        return line;
    }
    const words = CUT.exec(chars.slice(0, TITLE_CHARS + 1).join(''));
    return `${(words?.[1] ?? chars.slice(0, TITLE_CHARS).join('')).trimEnd()}…`;
}

/**
 * @param {Store} store @param {Sync} sync
 * @param {(id: string) => Promise<void>} open  a conversation
 */
export function createSending(store, sync, open) {
    /**
     * Send a text to a conversation, a new one if it is ''. Resolves to
     * whether it was accepted; if not, `place` says why.
     * @param {string} place @param {Draft} draft
     * @param {boolean} [mine]  written in this tab, which then goes there
     */
    async function send(place, draft, mine = true) {
        const { text: body, mode, key } = draft;
        ui.refuse(place, '');
        const id = place || await create(draft, mine);
        if (!id) {
            return false;
        }
        const detail = await deliver(store, { conversation: id, body, mode,
            key });
        if (detail) {
            giveBack(id, draft, detail);
        } else {
            sync.reached();
        }
        return detail === '';
    }

    /** The conversation that is being made for what is written into none, here
     *  or in a tab that is gone. @type {Map<boolean, Promise<string>>} */
    const making = new Map();

    /** A conversation for a first message, and for what is written while it is
     *  being made; '' if it was refused. @param {Draft} draft
     *  @param {boolean} mine */
    async function create(draft, mine) {
        /** @type {Pending} */
        const row = { conversation: '', body: draft.text, mode: draft.mode,
            key: draft.key, state: 'sending', detail: '', tab: me() };
        store.putPending(row);
        intoOutbox(row);
        const made = making.get(mine) ?? make(draft, mine)
            .finally(() => making.delete(mine));
        making.set(mine, made);
        try {
            const id = await made;
            forget(store, row);
            return id;
        } catch (error) {
            giveBack('', draft, refuse(store, row, why(error)));
            return '';
        }
    }

    /** @param {Draft} draft @param {boolean} mine */
    async function make(draft, mine) {
        const made = await attend(`send:${draft.key}`, () => persist(() =>
            api.createConversation(titleFrom(draft.text), `c-${draft.key}`)));
        const id = made.conversation?.id ?? '';
        applyAccepted(store, made);
        if (!made.replayed) {
            store.noteMade(id);
        }
        if (mine && !ui.current.peek()) {
            moveDraft('', id);
            open(id);
        }
        return id;
    }

    /**
     * A refused text goes back into the composer, unless something else is
     * being written there; then its row keeps it.
     * @param {string} id @param {Draft} draft @param {string} detail
     */
    function giveBack(id, draft, detail) {
        if (peekDraft(id).text.trim() === '') {
            setDraft(id, { ...draft, keyFor: draft.text });
            discard({ conversation: id, key: draft.key });
            ui.refuse(id, detail);
        }
    }

    /** Send a refused row again, with its key.
     *  @param {Pending} row @param {boolean} [mine] */
    function retry(row, mine = true) {
        const { conversation, body, mode, key } = row;
        if (store.sending(conversation).some((r) => r.key === key)) {
            return;
        }
        if (conversation) {
            deliver(store, row);
        } else {
            send('', { text: body, mode, key, keyFor: body },
                mine);
        }
    }

    /** A refused row is not wanted any more.
     *  @param {Pick<Pending, 'conversation' | 'key'>} row */
    const discard = (row) => forget(store, row);

    /** The same question as a new message. @param {Run} run */
    function askAgain(run) {
        const message = run.message_id
            ? store.messages.peek(run.message_id)?.value : undefined;
        if (message) {
            /** @type {Mode} */
            const mode = run.depth === 'deep' ? 'deep'
                : run.kind === 'research' ? 'background' : 'auto';
            deliver(store, { conversation: message.conversation_id,
                body: message.body, mode, key: api.newKey() });
        }
    }

    /** What was on its way when the page was left is sent on; what had been
     *  refused is shown again. So is that of tabs that are gone. */
    async function resume() {
        for (const row of await adopt()) {
            if (row.state === 'refused') {
                store.putPending(row);
            } else if (row.conversation) {
                deliver(store, row, true);
            } else {
                retry(row, row.tab === me());
            }
        }
    }

    /** Another tab wrote down what waits: what it took over is shown there.
     *  @param {boolean} away  this page heard nothing for a while */
    function hearOutbox(away) {
        const now = new Map(outbox().map((row) => [row.key, row]));
        for (const row of store.refused()) {
            const kept = now.get(row.key);
            if (kept ? kept.tab !== me() : away) {
                store.dropPending(row.conversation, row.key);
            } else if (!kept) {
                intoOutbox(row); // Two tabs wrote at once.
            }
        }
    }

    return { send, retry, discard, askAgain, resume, hearOutbox };
}
