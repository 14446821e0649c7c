/**
 * owner.js - which tab wrote what waits to be sent: it alone shows and sends it
 * while it lives. A tab has a name that outlives a reload, and holds a lock of
 * that name, which the browser itself takes from one that is gone. Where there
 * are no locks, whatever tab was opened last takes all.
 *
 * @import { Pending } from './types.js'
 */
import { newKey } from './api.js';
import { SPACE, intoOutbox, outbox } from './keep.js';

const PREFIX = `${SPACE}tab:`;

/** A reload may come before the lock of the page before is gone. */
const HANDOVER_MS = 1000;

/** Absent where the page is not served securely. */
const locks = globalThis.navigator?.locks;

let name = '';
let release = () => {};

/** The name of this tab. */
export const me = () => name;

/** @param {string} wanted @returns {Promise<boolean>} whether it is ours now */
const hold = (wanted) => new Promise((done) => {
    locks?.request(PREFIX + wanted,
        { signal: AbortSignal.timeout(HANDOVER_MS) }, () => {
            done(true);
            return new Promise((end) => { release = () => end(undefined); });
        }).catch(() => done(false));
});

/** Be there, under the name of before unless another tab has it: one that was
 *  copied has all that the other one knows. */
export async function arrive() {
    /** @type {string | null} */
    let known = name || null;
    try {
        known ??= sessionStorage.getItem(`${SPACE}tab`);
    } catch {
        // Then it has a new name after each reload.
    }
    name = known ?? newKey();
    if (locks && !await hold(name)) {
        name = newKey();
        await hold(name);
    }
    try {
        sessionStorage.setItem(`${SPACE}tab`, name);
    } catch {
        // See above.
    }
}

/** This page may not come back. */
export const depart = () => release();

/** @returns {Promise<Set<string>>} the names of the tabs that live */
async function living() {
    try {
        const { held } = await locks?.query() ?? {};
        return new Set((held ?? []).filter((l) => l.name?.startsWith(PREFIX))
            .map((l) => String(l.name).slice(PREFIX.length)));
    } catch {
        return new Set(); // It is not allowed to know.
    }
}

/** What waits to be sent and is of no other tab that lives, from now on of this
 *  one. `tab` is whose it was. @returns {Promise<Pending[]>} */
async function takeOver() {
    const others = await living();
    others.delete(name);
    const rows = outbox().filter((row) => !others.has(row.tab ?? ''));
    rows.forEach((row) => intoOutbox({ ...row, tab: name }));
    return rows;
}

/** One tab after the other. */
export const adopt = () => (locks
    ? locks.request(`${SPACE}adopt`, takeOver) : takeOver());
