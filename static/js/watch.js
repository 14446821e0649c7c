/**
 * watch.js - whether anybody looks at any tab of this browser. A tab that is
 * seen shares a lock, which the browser itself takes from one that is gone.
 */
import { SPACE } from './keep.js';

const NAME = `${SPACE}seen`;

/** Absent where the page is not served securely. */
const locks = globalThis.navigator?.locks;

let turn = 0;
let release = () => {};

/** This tab came into view, or went out of it. @param {boolean} seen */
export function watch(seen) {
    turn += 1;
    const mine = turn;
    release();
    release = () => {};
    if (seen) {
        locks?.request(NAME, { mode: 'shared' }, () => (mine !== turn
            ? undefined : new Promise((done) => {
                release = () => done(undefined);
            }))).catch(() => {});
    }
}

export async function isWatched() {
    if (document.visibilityState === 'visible') {
        return true;
    }
    try {
        const { held } = await locks?.query() ?? {};
        return held?.some(({ name }) => name === NAME) ?? false;
    } catch {
        return false; // It is not allowed to know.
    }
}
