/**
 * actions.js - what a person can do. Everything that was refused leaves its
 * text where it was, with the reason beside it.
 *
 * @import { Store } from './store.js'
 * @import { Sync } from './sync.js'
 */
import * as api from './api.js';
import { applyAccepted } from './apply.js';
import { leaveBrowser } from './gate.js';
import { t } from './i18n.js';
import { persist } from './send.js';
import { createSending } from './sending.js';
import * as ui from './ui.js';
import { attend } from './waiting.js';
import { why } from './words.js';

/** So many pages back is a message looked for. */
const SHOW_PAGES = 200;

/** @param {Store} store @param {Sync} sync */
export function createActions(store, sync) {
    /** Counts what the person went to: what comes late for something else
     *  does not lead away from there. */
    let visit = 0;

    /** The person went there. @param {string} id  '' for a new one */
    function open(id) {
        ui.steps.value += 1;
        return go(id);
    }

    /** @param {string} id  '' for a new one */
    async function go(id) {
        visit += 1;
        ui.refuse('panel', '');
        ui.current.value = id;
        sync.current = id;
        ui.listOpen.value = false;
        ui.openError.value = '';
        if (ui.panelRun.peek()) {
            ui.panelRun.value = '';
        }
        if (id && !store.threads.peek(id)?.loaded) {
            await read(id);
        }
    }

    /** Whether it could be read. @param {string} id @param {string} [before] */
    async function read(id, before) {
        ui.refuse(`older:${id}`, '');
        try {
            await persist(() => sync.readConversation(id, before));
            return true;
        } catch (error) {
            if (before) {
                ui.refuse(`older:${id}`, why(error));
            } else if (ui.current.peek() === id) {
                ui.openError.value = why(error);
            }
            return false;
        }
    }

    /** The server is back: what could not be read may be there now. */
    async function again() {
        const id = ui.current.peek();
        if (id && ui.openError.peek()) {
            ui.openError.value = '';
            await read(id);
        }
    }

    /** A message in its conversation, with the pages before it read until it is
     *  there. @param {string} conversation @param {string} message */
    async function show(conversation, message) {
        await open(conversation);
        for (let i = 0; i < SHOW_PAGES && message; i += 1) {
            const thread = store.thread(conversation);
            if (thread.order.includes(message) || !thread.hasMore
                || ui.current.peek() !== conversation) {
                break;
            }
            if (!await read(conversation, thread.order[0])) {
                break;
            }
        }
        const { order, extra } = store.thread(conversation);
        if (ui.current.peek() === conversation
            && [...order, ...extra].includes(message)) {
            ui.showMessage.value = message;
        }
    }

    /** Open the panel at a Run, and its conversation. @param {string} id */
    function openRun(id) {
        ui.steps.value += 1;
        return goRun(id);
    }

    /** @param {string} id */
    async function goRun(id) {
        visit += 1;
        const mine = visit;
        ui.panelOpen.value = true;
        ui.refuse('panel', '');
        if (!store.runs.peek(id)) {
            await sync.readRun(id);
        }
        const run = store.runs.peek(id)?.value;
        if (mine !== visit) {
            return;
        }
        const opened = run && run.conversation_id !== ui.current.peek()
            ? go(run.conversation_id) : null;
        if (!run) {
            ui.refuse('panel', t(sync.link.peek().state === 'live'
                ? 'error.404' : 'error.no_connection'));
        }
        ui.panelRun.value = id;
        await opened;
    }

    /**
     * Do something to a Run; `place` says why it was refused.
     * @param {string} place
     * @param {() => Promise<import('./types.js').Accepted>} attempt
     */
    async function control(place, attempt) {
        ui.refuse(place, '');
        try {
            applyAccepted(store, await attend(place, () => persist(attempt)));
            sync.reached();
            return true;
        } catch (error) {
            ui.refuse(place, why(error));
            return false;
        }
    }

    /** @param {string} id @param {string} body @param {string} key */
    const adjust = (id, body, key) =>
        control(`adjust:${id}`, () => api.adjust(id, body, key));

    /** @param {string} id @param {string} body @param {string} key */
    const reply = (id, body, key) =>
        control(`reply:${id}`, () => api.reply(id, body, key));

    /** Allow a call that waits, or not; it is said aloud.
     *  @param {string} id @param {'once' | 'run' | 'deny'} decision
     *  @param {string} note */
    async function decide(id, decision, note) {
        const key = api.newKey();
        const done = await control(`approve:${id}`,
            () => api.decide(id, decision, note, key));
        if (done) {
            store.onNews([{ kind: 'said',
                text: t(`approval.said.${decision}`) }]);
        }
        return done;
    }

    /** Go on from a research that has ended; the new one is shown.
     *  @param {string} id @param {string} body @param {string} key */
    const proceed = (id, body, key) => control(`continue:${id}`, async () => {
        const mine = visit;
        const reply = await api.proceed(id, body, key);
        if (mine === visit) {
            ui.panelRun.value = reply.run?.id ?? '';
        }
        return reply;
    });

    /** @param {string} id */
    function stop(id) {
        const key = api.newKey();
        return control(`stop:${id}`, () => api.stop(id, key));
    }

    /** @param {string} id @param {string} title */
    async function rename(id, title) {
        try {
            applyAccepted(store, await attend(`rename:${id}`, () => persist(() =>
                api.changeConversation(id, { title }))));
            return '';
        } catch (error) {
            return why(error);
        }
    }

    /** What of a conversation's results was already said to be seen. */
    const told = new Map();

    /** The results of a conversation that is looked at are seen.
     *  @param {import('./types.js').Conversation} conversation */
    async function see({ id, unread, updated_at: at }) {
        const what = `${unread} ${at}`;
        if (unread > 0 && told.get(id) !== what) {
            told.set(id, what);
            const done = await control(`see:${id}`,
                () => api.changeConversation(id, { seen: true }));
            if (!done && told.get(id) === what) {
                told.delete(id);
            }
        }
    }

    /** @param {string} id */
    async function remove(id) {
        const key = api.newKey();
        try {
            await attend(`remove:${id}`, () => persist(() =>
                api.deleteConversation(id, key)));
            if (ui.current.peek() === id) {
                go('');
            }
            return '';
        } catch (error) {
            return why(error);
        }
    }

    /** Log out: nothing of the account is left in this browser. '' or why
     *  not; a session that has ended by itself is no reason. */
    async function leave() {
        try {
            await api.logout();
        } catch (error) {
            if (!(error instanceof api.ApiError && error.status === 401)) {
                return why(error);
            }
        }
        leaveBrowser();
        return '';
    }

    return { leave, ...createSending(store, sync, go), open, openRun, go, goRun, show,
        again, older: read, adjust, reply, decide, proceed, stop, rename, see, remove };
}

/** @typedef {ReturnType<typeof createActions>} Actions */
