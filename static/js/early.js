/**
 * early.js - what the first picture needs is asked for while the rest of the
 * page's code is still on its way. It needs few modules itself, and each
 * reply is used once.
 */
import * as api from './api.js';
import { readHash } from './hash.js';
import { preferred } from './keep.js';

const { conv, run } = readHash();
const lang = preferred();

/** @typedef {typeof first} First */
export const first = { conv, run, lang, texts: api.texts(lang),
    overview: api.overview(), open: conv ? api.conversation(conv) : null };

// Whoever uses them sees to what fails.
for (const reply of [first.texts, first.overview, first.open]) {
    reply?.catch(() => {});
}
if (conv || run) {
    import('./markdown.js').catch(() => {});
}
