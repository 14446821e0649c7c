/** passage.js - the source behind a citation, beside it. */
import { signal } from '@preact/signals';
import { useEffect } from 'preact/hooks';

import { sourceUrl } from '../api.js';
import { t } from '../i18n.js';
import { html, useApp } from '../html.js';
import { headingOf } from '../words.js';

/** @type {import('@preact/signals').Signal<{ run: string, n: number,
 *      anchor: HTMLElement } | null>} */
const shown = signal(null);

/** @type {any} */
let leaving = 0;

/** Long enough to move the pointer from the number to the passage. */
const LEAVE_MS = 200;

const WIDTH_PX = 380;
const TEXT_CHARS = 700;

/** A page of the web can be opened where it stands.
 *  @param {string} location */
function placeOf(location) {
    return /^https?:\/\//.test(location)
        ? html`<a href=${location} target="_blank"
            rel="noopener noreferrer">${location}</a>` : location;
}

/** Its beginning, and where all of it is. @param {import('../types.js').Source} source */
function textOf({ id, text, text_cut: cut }) {
    const more = cut || text.length > TEXT_CHARS;
    return html`<p class="passage-text" dir="auto">${
        more ? `${text.slice(0, TEXT_CHARS)}…` : text}</p>
        ${more ? html`<p class="passage-more"><a href=${sourceUrl(id)}
            target="_blank">${t('source.whole')}</a></p>` : null}`;
}

/** @param {string} run @param {HTMLElement} anchor */
function showPassage(run, anchor) {
    clearTimeout(leaving);
    const n = Number(anchor.dataset.n);
    if (shown.peek()?.anchor !== anchor) {
        shown.peek()?.anchor.removeAttribute('aria-describedby');
        anchor.setAttribute('aria-describedby', 'passage');
        shown.value = { run, n, anchor };
    }
}

function hidePassage() {
    clearTimeout(leaving);
    leaving = setTimeout(hideNow, LEAVE_MS);
}

function hideNow() {
    shown.peek()?.anchor.removeAttribute('aria-describedby');
    shown.value = null;
}

/** For what holds citations of a Run's sources: the passage is shown at the
 *  pointer, at the focus, by a tap and by Enter. @param {string} run */
export function passageEvents(run) {
    /** @param {Event} event */
    const over = (event) => {
        const cite = /** @type {Element} */ (event.target).closest('.cite');
        if (cite instanceof HTMLElement) {
            showPassage(run, cite);
        }
    };
    return {
        onMouseOver: over, onFocusIn: over, onClick: over,
        onKeyDown: (/** @type {KeyboardEvent} */ e) =>
            e.key === 'Enter' && over(e),
        onMouseOut: hidePassage, onFocusOut: hidePassage,
    };
}

/** Below the number if there is room, else above; inside the window.
 *  @param {HTMLElement} anchor */
function placeBeside(anchor) {
    const at = anchor.getBoundingClientRect();
    const width = Math.min(WIDTH_PX, innerWidth - 24);
    const left = Math.max(12, Math.min(at.left - 24, innerWidth - width - 12));
    const below = innerHeight - at.bottom > 260;
    return { left: `${left}px`, width: `${width}px`,
        ...(below ? { top: `${at.bottom + 6}px` }
            : { bottom: `${innerHeight - at.top + 6}px` }) };
}

export function Passage() {
    const { store, sync } = useApp();
    const now = shown.value;
    const details = now ? store.details.get(now.run) : undefined;
    const source = details?.sources.find((s) => s.value.n === now?.n)?.value;
    const missing = now !== null && !source && !details?.loaded;

    useEffect(() => {
        if (now && missing) {
            sync.readRun(now.run);
        }
    }, [now, missing]);
    useEffect(() => {
        if (!now) {
            return undefined;
        }
        /** It goes with its number, and away with it.
         *  @param {Event} e */
        const onAway = (e) => {
            const at = now.anchor.getBoundingClientRect();
            if (e.type === 'scroll' && at.top > 0 && at.bottom < innerHeight) {
                shown.value = { ...now };
            } else if (e.type !== 'keydown'
                || /** @type {KeyboardEvent} */ (e).key === 'Escape') {
                hideNow();
            }
        };
        // What is drawn anew may take the number away, or move it.
        const isThere = () => now.anchor.isConnected
            && Number(now.anchor.dataset.n) === now.n;
        if (!isThere()) {
            hideNow();
            return undefined;
        }
        const watch = new MutationObserver(() => {
            if (isThere()) {
                shown.value = { ...now };
            } else {
                hideNow();
            }
        });
        document.querySelectorAll('.main, .panel').forEach((e) =>
            watch.observe(e, { childList: true, subtree: true,
                attributeFilter: ['data-n'] }));
        const away = ['keydown', 'scroll', 'resize'];
        away.forEach((type) => addEventListener(type, onAway, true));
        return () => {
            watch.disconnect();
            away.forEach((type) => removeEventListener(type, onAway, true));
        };
    }, [now]);
    if (!now) {
        return null;
    }
    return html`<div class="passage" id="passage" role="tooltip"
        style=${placeBeside(now.anchor)}
        onMouseEnter=${() => clearTimeout(leaving)} onMouseLeave=${hidePassage}>
        ${source ? html`<p class="passage-title" dir="auto">
                <span class="number">${source.n}</span> ${source.title}</p>
            <p class="quiet" dir="auto">${headingOf(source)}</p>
            ${textOf(source)}
            <p class="quiet passage-place">${placeOf(source.location)}</p>`
            : html`<p class="quiet">${missing ? t('source.loading')
                : t('source.none', { n: now.n })}</p>`}
    </div>`;
}
