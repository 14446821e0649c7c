/** passage.js - the source behind a citation, beside it. */
import { signal } from '@preact/signals';
import { useEffect } from 'preact/hooks';

import { t } from '../i18n.js';
import { html, useApp } from '../html.js';

/** @type {import('@preact/signals').Signal<{ run: string, n: number,
 *      anchor: HTMLElement } | null>} */
const shown = signal(null);

/** @type {any} */
let leaving = 0;

/** Long enough to move the pointer from the number to the passage. */
const LEAVE_MS = 200;

const WIDTH_PX = 380;
const TEXT_CHARS = 700;

/** @param {string} run @param {HTMLElement} anchor */
export function showPassage(run, anchor) {
    clearTimeout(leaving);
    const n = Number(anchor.dataset.n);
    if (shown.peek()?.anchor !== anchor) {
        shown.peek()?.anchor.removeAttribute('aria-describedby');
        anchor.setAttribute('aria-describedby', 'passage');
        shown.value = { run, n, anchor };
    }
}

export function hidePassage() {
    clearTimeout(leaving);
    leaving = setTimeout(() => {
        shown.peek()?.anchor.removeAttribute('aria-describedby');
        shown.value = null;
    }, LEAVE_MS);
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
        /** @param {KeyboardEvent} e */
        const onKey = (e) => {
            if (e.key === 'Escape') {
                shown.value = null;
            }
        };
        document.addEventListener('keydown', onKey);
        return () => document.removeEventListener('keydown', onKey);
    }, []);
    if (!now) {
        return null;
    }
    return html`<div class="passage" id="passage" role="tooltip"
        style=${placeBeside(now.anchor)}
        onMouseEnter=${() => clearTimeout(leaving)} onMouseLeave=${hidePassage}>
        ${source ? html`<p class="passage-title" dir="auto">
                <span class="number">${source.n}</span> ${source.title}</p>
            ${source.heading && html`<p class="quiet" dir="auto">
                ${source.heading}</p>`}
            <p class="passage-text" dir="auto">${
                source.text.length > TEXT_CHARS
                    ? `${source.text.slice(0, TEXT_CHARS)}…` : source.text}</p>
            <p class="quiet passage-place">${source.location}</p>`
            : html`<p class="quiet">${missing ? t('source.loading')
                : t('source.none', { n: now.n })}</p>`}
    </div>`;
}
