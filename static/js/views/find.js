/**
 * find.js - everything from anywhere: what was said, by its words, and all
 * research, by its state. A dialog over the page.
 *
 * @import { Run } from '../types.js'
 */
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';

import * as api from '../api.js';
import { applyRunList } from '../apply.js';
import { t, when } from '../i18n.js';
import { Icon, html, useApp } from '../html.js';
import { useNewest } from '../newest.js';
import { isActive } from '../rules.js';
import * as ui from '../ui.js';
import { stateWords, titleOf, why } from '../words.js';

/** A pause in typing that is long enough to look. */
const PAUSE_MS = 200;

/** How often a search is asked for again while the index is being made. */
const ROUNDS = 50;

const STATES = ['', 'active', 'completed', 'incomplete', 'failed', 'stopped'];

export function Find() {
    const [text, setText] = useState('');
    const box = useRef(/** @type {HTMLDialogElement | null} */ (null));
    const close = () => { ui.findOpen.value = false; };

    useLayoutEffect(() => {
        const { current } = box;
        current?.showModal();
        // The focus goes back to where it came from.
        return () => current?.close();
    }, []);
    return html`
        <dialog class="find" ref=${box} aria-label=${t('find')}
            onClose=${close} onClick=${(/** @type {MouseEvent} */ e) =>
                e.target === box.current && close()}>
            <div class="find-inside">
                <div class="find-head">
                    <input type="search" class="find-field" value=${text}
                        aria-label=${t('find.label')} autofocus dir="auto"
                        placeholder=${t('find.placeholder')} maxlength="300"
                        onInput=${(/** @type {any} */ e) =>
                            setText(e.currentTarget.value)} />
                    <button type="button" class="icon-button" onClick=${close}
                        aria-label=${t('find.close')}>
                        <${Icon} name="close" /></button>
                </div>
                ${text.trim() ? html`<${Results} text=${text.trim()} />`
                    : html`<${AllResearch} />`}
            </div>
        </dialog>`;
}

// --- what was said -----------------------------------------------------------

/** @typedef {import('../types.js').Found} Found */

/** What is known of a search: for which text, and what was found so far.
 *  @typedef {{ text: string, list: Found[], next: string | null,
 *      complete: boolean, error: string }} Search */

/** @param {{ text: string }} props */
function Results({ text }) {
    const { value: now, ask, extend } = useNewest(
        /** @type {Search | null} */ (null));

    useEffect(() => {
        const { isNewest, tell } = ask();
        const timer = setTimeout(() => look(text, isNewest, tell), PAUSE_MS);
        return () => clearTimeout(timer);
    }, [text]);
    async function more() {
        if (!now?.next) {
            return;
        }
        try {
            const reply = await api.search(now.text, now.next);
            extend(now, { ...now, list: [...now.list, ...reply.results],
                next: reply.next, error: '' });
        } catch (error) {
            extend(now, { ...now, error: why(error) });
        }
    }
    const stale = now?.text !== text;
    return html`
        <p class="find-state quiet" role="status">${
            now?.error || (stale || !now.complete ? t('find.looking')
                : now.list.length === 0 ? t('find.nothing') : '')}</p>
        <ul class="finds">${(now?.list ?? []).map((f) => html`
            <${Hit} key=${`${f.kind}${f.message_id}${f.run_id}`} found=${f} />`)}
        </ul>
        ${now?.next && !stale && html`<button type="button" class="small"
            onClick=${more}>${t('find.more')}</button>`}`;
}

/**
 * Ask, and ask again while older texts are still being taken in.
 * @param {string} text @param {() => boolean} isWanted
 * @param {(search: Search) => void} tell
 */
async function look(text, isWanted, tell) {
    for (let round = 0; round < ROUNDS && isWanted(); round += 1) {
        try {
            const reply = await api.search(text);
            tell({ text, list: reply.results, next: reply.next,
                complete: reply.complete, error: '' });
            if (reply.complete) {
                return;
            }
        } catch (error) {
            tell({ text, list: [], next: null, complete: true,
                error: why(error) });
            return;
        }
    }
}

/** Marks of Markdown, which say nothing in a line. */
const MARKS = /(?<=^|\s)#{1,6}\s+|\*\*|`/g;

/** @param {{ found: Found }} props */
function Hit({ found }) {
    const { actions } = useApp();
    function go() {
        ui.findOpen.value = false;
        actions.show(found.conversation_id, found.message_id ?? '');
    }
    return html`<li><button type="button" class="hit" onClick=${go}>
        <span class="hit-head"><strong dir="auto">${
            found.conversation_title || t('list.untitled')}</strong>
            <span class="quiet">${t(`find.${found.kind}`)} · ${when(found.at)}
            </span></span>
        <span class="hit-text" dir="auto">${
            found.snippet.replace(MARKS, '')}</span>
    </button></li>`;
}

// --- all research --------------------------------------------------------------

/** @typedef {{ ids: string[], more: boolean, error: string }} Listed */

function AllResearch() {
    const { store } = useApp();
    const [state, setState] = useState('');
    const { value: known, ask, extend } = useNewest(/** @type {Listed} */ (
        { ids: [], more: false, error: '' }));

    /** @param {string[]} ids  of what is listed before it
     *  @returns {Promise<Listed>} */
    async function page(ids) {
        try {
            const reply = await api.research(state, ids.at(-1));
            applyRunList(store, reply);
            return { ids: [...ids, ...reply.runs.map((r) => r.id)],
                more: reply.has_more, error: '' };
        } catch (failed) {
            return { ids, more: ids.length > 0, error: why(failed) };
        }
    }
    useEffect(() => {
        const { tell } = ask();
        page([]).then(tell);
    }, [state]);
    const more = async () => extend(known, await page(known.ids));
    // What began or moved since the read is known from the feed.
    const all = [...new Set([...store.activeResearch().map((r) => r.id),
        ...known.ids])]
        .map((id) => store.run(id)).filter((r) => r !== undefined)
        .filter((r) => fits(r, state))
        .sort((a, b) => b.created_at - a.created_at);
    return html`
        <h2 class="find-title">${t('find.research')}</h2>
        <fieldset class="filters"><legend class="sr">${t('find.filter')}</legend>
            ${STATES.map((s) => html`<label class=${`mode${
                s === state ? ' chosen' : ''}`}>
                <input type="radio" name="find-state" class="sr" value=${s}
                    checked=${s === state} onChange=${() => setState(s)} />
                <span>${t(s === 'active' ? 'find.active'
                    : s ? `state.${s}` : 'find.all')}</span></label>`)}
        </fieldset>
        <p class="find-state quiet" role="status">${known.error
            || (all.length === 0 ? t('find.no_research') : '')}</p>
        <ul class="finds">${all.map((run) => html`<${ResearchRow} key=${run.id}
            run=${run} />`)}</ul>
        ${known.more && html`<button type="button" class="small"
            onClick=${more}>${t('find.more')}</button>`}`;
}

/** @param {Run} run @param {string} state */
const fits = (run, state) => state === ''
    || (state === 'active' ? isActive(run.state) : run.state === state);

/** @param {{ run: Run }} props */
function ResearchRow({ run }) {
    const { store, actions } = useApp();
    const unread = store.unseen.value.has(run.id)
        && (store.conversation(run.conversation_id)?.unread ?? 0) > 0;
    function go() {
        ui.findOpen.value = false;
        actions.openRun(run.id);
    }
    return html`<li><button type="button" class="hit" onClick=${go}>
        <span class="hit-head">
            <span class=${`dot ${isActive(run.state) ? run.state
                : unread ? 'unread' : 'ended'}`} aria-hidden="true"></span>
            <strong dir="auto">${titleOf(run)}</strong>
            ${unread && html`<span class="sr">${t('list.unread')}</span>`}
            <span class="quiet">${stateWords(run)} · ${
                when(run.ended_at ?? run.created_at)}</span></span>
        ${run.progress && html`<span class="hit-text" dir="auto">${
            run.progress}</span>`}
    </button></li>`;
}
