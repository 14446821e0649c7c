/** notify.js - a word from the browser when a research ends, or something waits
 *  for the person, and nobody looks. */
import { signal } from '@preact/signals';

import { recall, remember } from './keep.js';
import { FILES } from './place.js';
import { isWatched } from './watch.js';
import { reasonWords, stateWords, titleOf } from './words.js';

/** Absent where the page is not served securely. */
const Api = globalThis.Notification;

export const isPresent = () => Api !== undefined;

/** False once the browser would not make one: on some telephones only a
 *  service worker may. */
export const possible = signal(true);

/** @param {string} title @param {NotificationOptions} [options] */
function make(title, options) {
    try {
        return new Api(title, options);
    } catch {
        possible.value = false;
        wanted.value = false;
        remember('notify', null);
        return null;
    }
}

const isWanted = () => recall('notify', false) && Api?.permission === 'granted';

/** Whether it was asked for, in any tab, and is allowed. */
export const wanted = signal(isWanted());
addEventListener('storage', () => { wanted.value = isWanted(); });

/** Ask for it or no longer; false if the browser does not allow it, or cannot.
 *  One that is made before it is allowed is not shown. */
export async function toggle() {
    if (wanted.peek()) {
        wanted.value = false;
        remember('notify', null);
        return true;
    }
    if (Api.permission !== 'granted' && !make('')) {
        return false;
    }
    wanted.value = await Api.requestPermission() === 'granted';
    remember('notify', wanted.value || null);
    return wanted.value;
}

/** The same in every tab, and another for each thing that is waited for: in the
 *  place of one that was seen, a browser says nothing.
 *  @param {import('./types.js').Run} run */
const tagOf = (run) => `aside-${run.id}${run.state !== 'awaiting_input' ? ''
    : `-${run.approval?.id ?? run.budget.requests.used}`}`;

/**
 * Tell it, if it was asked for and nobody looks at any tab. Several tabs say
 * the same; the tag makes it one.
 * @param {import('./types.js').Run} run @param {() => void} onClick
 */
export async function tell(run, onClick) {
    if (!isWanted() || await isWatched()) {
        return;
    }
    const shown = make(titleOf(run), { tag: tagOf(run),
        body: reasonWords(run) || stateWords(run),
        icon: new URL('icon.svg', FILES).href });
    if (!shown) {
        return;
    }
    shown.onclick = () => {
        window.focus();
        shown.close();
        onClick();
    };
}
