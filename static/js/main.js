/** main.js - puts the parts together and starts them. */
import { effect } from '@preact/signals';
import { h, render } from 'preact';

import { createActions } from './actions.js';
import { onOutcome } from './api.js';
import { hearDraft, rereadDrafts } from './drafts.js';
import { first } from './early.js';
import { keepFocus } from './focus.js';
import { COMINGS, LEAVINGS, changeHands, followOut, hear, shut
} from './gate.js';
import { AppContext } from './html.js';
import { loadLanguage, t } from './i18n.js';
import { SPACE, recall } from './keep.js';
import { arrive, depart } from './owner.js';
import { backoff, pause } from './pace.js';
import { isActive, isMissing } from './rules.js';
import { Store } from './store.js';
import { Sync } from './sync.js';
import { followTrail } from './trail.js';
import * as ui from './ui.js';
import { App, preload } from './views/app.js';
import { loadMarkdown } from './views/prose.js';
import { watch } from './watch.js';
import { receiptWords, stateWords, titleOf } from './words.js';

/** An empty frame is shown only if there is nothing to put into it for long. */
const FRAME_ALONE_MS = 150;

/** How often the page looks whether the machine slept, and a beat so late that
 *  it did: longer than one of a page that nobody sees may be late. */
const BEAT_MS = 15_000;
const SLEPT_MS = 120_000;

const store = new Store();
const sync = new Sync(store, say);
const actions = createActions(store, sync);
onOutcome(hear);

/** By the browser's own means, if that is wished for.
 *  @param {import('./types.js').Run} run */
function notify(run) {
    if (recall('notify', false)) {
        import('./notify.js').then(({ tell }) => tell(run,
            () => actions.openRun(run.id)));
    }
}

/** What waits for the person is no past, however it was learnt of: each thing is
 *  told once. */
function tellWaiting() {
    /** @type {Set<string>} */
    const told = new Set();
    effect(() => store.active.value.forEach((id) => {
        const run = store.run(id);
        const what = run?.state === 'awaiting_input'
            && `${id} ${run.approval?.id ?? run.budget.requests.used}`;
        if (run && what && !told.has(what)) {
            told.add(what);
            notify(run);
        }
    }));
}

/** What comes at once is said at once: a later line would cut off the first.
 *  @type {string[]} */
const aloud = [];

/** Completions and receipts are said aloud, politely, and marked.
 *  @param {import('./types.js').News[]} news */
function say(news) {
    const lines = news.map((n) => {
        if (n.kind === 'said') {
            return n.text;
        }
        if (n.kind === 'handoff') {
            return receiptWords(n.handoff);
        }
        if (n.run.kind === 'research' && !isActive(n.run.state)
            && n.run.state !== 'stopped' && (!ui.panelOpen.peek()
                || n.run.conversation_id !== ui.current.peek())) {
            ui.finished.value = n.run.id;
        }
        if (n.run.kind === 'research' && !isActive(n.run.state)) {
            notify(n.run);
        }
        return n.run.kind === 'research' || !isActive(n.run.state)
            || n.run.approval
            ? t('say.run', { title: titleOf(n.run),
                state: stateWords(n.run) }) : '';
    }).filter((line) => line !== '');
    if (lines.length > 0) {
        aloud.push(...lines);
        setTimeout(() => {
            const text = aloud.splice(0).join(' ');
            if (text) {
                ui.spoken.value = { n: ui.spoken.peek().n + 1, text };
            }
        });
    }
}

/** What the browser tells of the page and the network. */
function listen() {
    const see = () => {
        ui.visible.value = document.visibilityState === 'visible';
        watch(ui.visible.peek());
    };
    see();
    document.addEventListener('visibilitychange', () => {
        see();
        sync.look(ui.visible.peek());
    });
    // A connection does not outlive a machine's sleep, and says nothing of it.
    let beat = Date.now();
    setInterval(() => {
        const late = Date.now() - beat > SLEPT_MS;
        beat = Date.now();
        if (late) {
            sync.wake();
        }
    }, BEAT_MS);
    addEventListener('storage', (event) => {
        hearDraft(event);
        if (event.key === `${SPACE}outbox`) {
            actions.hearOutbox(false);
        }
        if (event.key === SPACE + COMINGS) {
            sync.restart();
        }
        if (event.key === SPACE + LEAVINGS) {
            followOut();
        }
    });
    addEventListener('offline', () => sync.lost());
    addEventListener('online', () => sync.wake());
    // A page that is put to sleep must not keep others from going on.
    document.addEventListener('freeze', () => sync.tabs.leave());
    document.addEventListener('resume', () => {
        followOut();
        sync.wake();
    });
    addEventListener('pagehide', () => {
        sync.tabs.leave();
        depart();
    });
    addEventListener('pageshow', ({ persisted }) => {
        if (persisted) {
            followOut();
            rereadDrafts();
            actions.hearOutbox(true);
            arrive();
            sync.wake();
        }
    });
}

/** There is nothing to show without them: until they are there. */
async function loadWords() {
    for (let failures = 0, got = false; !got;) {
        try {
            await loadLanguage(first.lang, failures ? undefined : first.texts);
            got = true;
        } catch {
            failures += 1;
            await pause(backoff(failures, Math.random()));
        }
    }
}

async function start() {
    const here = arrive();
    const { conv, run } = first;
    const drawing = conv || run ? loadMarkdown() : null;
    await loadWords();
    await Promise.race([pause(FRAME_ALONE_MS),
        Promise.allSettled([first.overview, first.open, drawing])]);
    ui.current.value = conv;
    sync.current = conv;
    const page = /** @type {HTMLElement} */ (document.getElementById('page'));
    page.replaceChildren();
    render(h(AppContext.Provider, { value: { store, sync, actions } },
        h(App, null)), page);
    keepFocus(page);
    ui.runClock(() => store.active.value.length > 0
        || store.health.value?.runtime === 'absent'
        || (ui.panelOpen.value && store.tools.value.some(isMissing)),
    () => sync.tick());
    listen();
    await sync.restart(first);
    if (first.run) {
        await actions.goRun(first.run);
    }
    followTrail(actions);
    here.then(() => actions.resume());
    preload();
    addEventListener('keydown', (event) => {
        // A key held down presses a button once.
        if (event.repeat && event.key === 'Enter'
            && event.target instanceof HTMLButtonElement) {
            event.preventDefault();
        }
        if ((event.ctrlKey || event.metaKey) && event.key === 'k'
            && !shut.peek()) {
            event.preventDefault();
            ui.findOpen.value = !ui.findOpen.peek();
        }
    });
    tellWaiting();
    effect(() => {
        if (sync.link.value.state === 'live') {
            actions.again();
        }
    });
    // Whoever came in may be another than who was here before.
    let wasShut = shut.peek();
    effect(() => {
        if (wasShut && !shut.value) {
            sync.restart();
        }
        wasShut = shut.value;
    });
    effect(() => {
        if (store.access.value.tokens && store.account.value
            && changeHands(store.account.value)) {
            location.reload();
        }
    });
    effect(() => {
        const open = store.conversation(ui.current.value);
        if (open && ui.visible.value) {
            actions.see(open);
        }
    });
}

start();
