/**
 * gate.js - whether the server wants a login first. Whoever is told so shuts it,
 * and any answer to somebody who is logged in opens it.
 */
import { signal } from '@preact/signals';

import { SPACE, forgetAll, recall, remember } from './keep.js';

export const shut = signal(false);

/** What the server said of a request. @param {any} error  null: it was done */
export function hear(error) {
    if (!error) {
        shut.value = false;
    } else if (error.code === 'login_required') {
        shut.value = true;
    }
}

/** Under this name other tabs are told that somebody came or left. */
export const COMINGS = 'coming';

export const tellTabs = () => remember(COMINGS, Date.now());

/** Under this name other tabs are told that somebody logged out. */
export const LEAVINGS = 'left';

/** Begin as a page that was just opened: nothing is left in its memory. */
function beginAnew() {
    history.replaceState(null, '', location.pathname + location.search);
    location.reload();
}

/** Somebody has logged out here: nothing of theirs stays in this browser. */
export function leaveBrowser() {
    remember(LEAVINGS, Date.now());
    forgetAll();
    beginAnew();
}

const leftBefore = recall(LEAVINGS, 0);

/** The same if they have in another tab, since this page was opened. */
export function followOut() {
    if (recall(LEAVINGS, 0) !== leftBefore) {
        forgetAll();
        beginAnew();
    }
}

/** Another person at the same browser must not find, nor send, what the one
 *  before was writing. Whether there was anything. @param {string} account */
export function changeHands(account) {
    const before = recall('account', '');
    remember('account', account);
    if (before === '' || before === account) {
        return false;
    }
    try {
        Object.keys(localStorage).filter((key) => key.startsWith(SPACE))
            .map((key) => key.slice(SPACE.length))
            .filter((name) => name === 'outbox' || name.startsWith('draft:'))
            .forEach((name) => remember(name, null));
    } catch {
        // Nothing is kept then.
    }
    return true;
}
