/** html.js - components as tagged templates, and what they all share. */
import { createContext, h } from 'preact';
import { useContext } from 'preact/hooks';
import htm from 'htm';

export const html = htm.bind(h);

/**
 * @typedef {object} App
 * @property {import('./store.js').Store} store
 * @property {import('./sync.js').Sync} sync
 * @property {import('./actions.js').Actions} actions
 */

export const AppContext = createContext(/** @type {App} */ ({}));

export const useApp = () => useContext(AppContext);

/** When there is nothing better to do. @param {() => void} run */
export const idle = (run) =>
    (globalThis.requestIdleCallback ?? setTimeout)(run);

/** The few pictures of the interface, drawn in the text's colour. */
/** @type {Record<string, string>} */
const PATHS = {
    plus: 'M10 4v12M4 10h12',
    search: 'M13.5 13.5L17 17M15 9A6 6 0 113 9a6 6 0 0112 0z',
    close: 'M5 5l10 10M15 5L5 15',
    menu: 'M3 6h14M3 10h14M3 14h9',
    pen: 'M4 16l.8-3.4L13.4 4 16 6.6l-8.6 8.6L4 16z',
    bin: 'M4.5 6h11M8 6V4h4v2M6 6l.7 10h6.6L14 6',
    send: 'M10 16V4.5M5 9l5-5 5 5',
    stop: 'M6 6h8v8H6z',
    down: 'M10 4v11M5.5 10.5L10 15l4.5-4.5',
    check: 'M4.5 10.5l3.5 3.5 7.5-8',
    half: 'M4.5 10h11',
    cross: 'M6 6l8 8M14 6l-8 8',
    clock: 'M10 6v4.2l2.6 1.6M17 10a7 7 0 11-14 0 7 7 0 0114 0z',
    handed: 'M3.5 10h11M10 5.5l4.5 4.5-4.5 4.5',
    file: 'M5.5 3h6l3 3v11h-9zM11.5 3v3h3',
};

/** @param {{ name: string }} props */
export function Icon({ name }) {
    return html`<svg class=${`icon icon-${name}`} viewBox="0 0 20 20"
        width="20" height="20" aria-hidden="true"><path d=${PATHS[name]} />
        </svg>`;
}
