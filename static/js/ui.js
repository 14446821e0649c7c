/**
 * ui.js - what this page looks at: nothing in here is known to the server.
 */
import { effect, signal } from '@preact/signals';

/** The open conversation; '' is a new one. */
export const current = signal('');
export const panelOpen = signal(false);
/** The Run that the panel was opened for; '' for all. */
export const panelRun = signal('');
/** The research that ended last, until somebody looks at the panel. */
export const finished = signal('');
/** The list of conversations, where it does not fit beside the rest. */
export const listOpen = signal(false);
/** Why the open conversation cannot be shown; '' if it can. */
export const openError = signal('');
/** The dialog in which everything is found. */
export const findOpen = signal(false);
/** The dialog of the library. */
export const libraryOpen = signal(false);
/** The dialog of sessions and tokens. */
export const accessOpen = signal(false);
/** The dialog of the audit log. */
export const auditOpen = signal(false);
/** Whether anybody can see this page. */
export const visible = signal(true);
/** Why the last action at a place was refused, by place.
 *  @type {import('@preact/signals').Signal<Record<string, string>>} */
export const refusals = signal({});
/** Said aloud by screen readers; `n` tells one word from the same before. */
export const spoken = signal({ n: 0, text: '' });
/** Counts requests to put the cursor into the composer. */
export const focusComposer = signal(0);
/** A message to bring into view once it is there. */
export const showMessage = signal('');

/** Counts where the person went: each is a step that Back undoes. */
export const steps = signal(0);

/** @param {string} place @param {string} text  '' takes it away */
export function refuse(place, text) {
    const { [place]: _, ...rest } = refusals.peek();
    refusals.value = text ? { ...rest, [place]: text } : rest;
}

// --- one clock, only while something runs --------------------------------------

/** Unix milliseconds, renewed each second while the clock runs. */
export const now = signal(Date.now());

/**
 * @param {() => boolean} isNeeded  read as a signal
 * @param {() => void} onTick
 */
export function runClock(isNeeded, onTick) {
    effect(() => {
        if (!isNeeded()) {
            return undefined;
        }
        now.value = Date.now();
        const timer = setInterval(() => {
            now.value = Date.now();
            onTick();
        }, 1000);
        return () => clearInterval(timer);
    });
}
