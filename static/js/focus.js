/**
 * focus.js - the focus is never lost: when what has it goes away, the nearest
 * thing around it that stays gets it, so that a keyboard goes on from there.
 */

/** What has a first thing of its own to go to. */
const PLACES = '.card, .row, .list, .find-inside, .main';

/** Where each of them begins; of the list, what is always shown. */
const FIRST = ':scope > .new, :scope > .composer textarea, .card-title,'
    + ' .row-open, input';

/** @param {Element | null} around @returns {HTMLElement | null} */
function homeOf(around) {
    for (let e = around; e; e = e.parentElement) {
        const home = e.matches('[tabindex]') ? e
            : e.matches(PLACES) ? e.querySelector(FIRST) : null;
        if (home instanceof HTMLElement) {
            return home;
        }
    }
    return null;
}

/** @param {Element} root */
export function keepFocus(root) {
    /** What has the focus, and all around it. @type {Element[]} */
    let chain = [];

    document.addEventListener('focusin', ({ target }) => {
        chain = [];
        for (let e = /** @type {Element | null} */ (target); e;
            e = e.parentElement) {
            chain.push(e);
        }
    });
    // Who points at something else has left it.
    document.addEventListener('pointerdown', () => { chain = []; });
    new MutationObserver(() => {
        if (chain.length > 0 && !chain[0].isConnected
            && document.activeElement === document.body) {
            const around = chain.find((e) => e.isConnected) ?? null;
            chain = [];
            homeOf(around)?.focus({ preventScroll: true });
        }
    }).observe(root, { childList: true, subtree: true });
}
