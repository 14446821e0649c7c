/**
 * place.js - where the page stands. Its files lie in a folder named by what is
 * in them (v-0123456789ab/), beside index.html; so that a browser keeps them
 * for good, and never mixes two versions.
 */

/** The folder of this version's files. */
export const FILES = new URL('../', import.meta.url);

/** The folder of index.html, below which the API is, whatever the prefix. */
export const ROOT = /\/v-[0-9a-f]{12}\/$/.test(FILES.pathname)
    ? new URL('../', FILES) : FILES;
