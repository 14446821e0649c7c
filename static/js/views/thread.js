/** thread.js - a conversation: each question, and what came of it under it. */
import { useEffect, useRef, useState } from 'preact/hooks';

import { t } from '../i18n.js';
import { Icon, html, idle, useApp } from '../html.js';
import * as ui from '../ui.js';
import { Exchange, Unsent } from './exchange.js';

/** Nearer to the end than this is at the end. */
const END_PX = 60;

/** Of a conversation just opened, so many of its newest rows are drawn at
 *  once, and so many more whenever there is time. */
const ROWS_FIRST = 5;
const ROWS_MORE = 15;

export function Thread() {
    const { store, sync } = useApp();
    const id = ui.current.value;
    const thread = store.thread(id);
    const pending = store.pending.get(id) ?? [];
    const rows = [...thread.order.filter((m) => !thread.held.includes(m)),
        ...thread.extra];
    const drawn = useDrawn(rows);
    const { frame, content, atEnd, toEnd } = useEnd(pending.length);

    const empty = rows.length === 0 && pending.length === 0;
    const problem = store.conversations.value.get(id)?.value === null
        ? t('thread.gone') : ui.openError.value
            || (id && sync.missing.value === id && !thread.loaded
                ? t('error.404') : '');
    if (problem) {
        return html`<div class="thread-frame"><p class="thread-error"
            role="alert">${problem}</p>${pending.map((row) => html`
                <${Unsent} key=${row.key} row=${row} />`)}</div>`;
    }
    return html`
        <div class="thread-frame">
            <div class=${`thread${atEnd ? ' at-end' : ''}`} ref=${frame} tabindex="0" role="region"
                aria-label=${t('thread.label')}>
                <div class="thread-content" ref=${content}>
                    ${thread.hasMore && drawn.length === rows.length && html`<${Older} id=${id}
                        first=${thread.order[0]} />`}
                    ${empty && (id && !thread.loaded
                        ? html`<p class="quiet">${t('thread.loading')}</p>`
                        : html`<${Welcome} />`)}
                    ${drawn.map((m) => html`<${Exchange} key=${m} id=${m} />`)}
                    ${pending.map((row) => html`<${Unsent} key=${row.key}
                        row=${row} />`)}
                </div>
            </div>
            ${!atEnd && html`<button type="button" class="to-end"
                aria-label=${t('thread.to_end')} onClick=${toEnd}>
                <${Icon} name="down" /></button>`}
        </div>`;
}

/**
 * The rows that are drawn so far: once all were, every one.
 * @param {string[]} rows
 */
function useDrawn(rows) {
    const [count, setCount] = useState(ROWS_FIRST);
    const isWanted = ui.showMessage.value !== '';
    const more = isWanted || count >= rows.length ? Infinity
        : count + ROWS_MORE;

    useEffect(() => {
        if (rows.length > 0 && count < Infinity) {
            idle(() => setCount((now) => Math.max(now, more)));
        }
    }, [more, rows.length > 0]);
    return isWanted ? rows : rows.slice(-count);
}

/**
 * Stay at the end while one is at the end, and where one is otherwise.
 * @param {number} sending  when it grows, the person wrote: show the end
 */
function useEnd(sending) {
    const frame = useRef(/** @type {HTMLElement | null} */ (null));
    const content = useRef(/** @type {HTMLElement | null} */ (null));
    const stay = useRef(true);
    const [atEnd, setAtEnd] = useState(true);

    function toEnd() {
        stay.current = true;
        frame.current?.scrollTo({ top: frame.current.scrollHeight });
    }
    useEffect(() => {
        const box = frame.current;
        if (!box || !content.current) {
            return undefined;
        }
        let height = box.scrollHeight;
        let room = box.clientHeight;
        let top = box.scrollTop;
        const onScroll = () => {
            // Of a change of size that onSize has yet to hear of: it was nobody
            // who scrolled, unless it went up.
            const isOurs = box.scrollTop >= top && stay.current
                && (box.scrollHeight !== height || box.clientHeight !== room);
            top = box.scrollTop;
            if (isOurs) {
                return;
            }
            const left = box.scrollHeight - box.scrollTop - box.clientHeight;
            stay.current = left < END_PX;
            setAtEnd(stay.current);
        };
        const onSize = () => {
            if (stay.current) {
                box.scrollTop = box.scrollHeight;
            } else if (box.scrollTop === 0) {
                // Older rows came above the first one: keep it in place.
                box.scrollTop = box.scrollHeight - height;
            }
            height = box.scrollHeight;
            room = box.clientHeight;
            top = box.scrollTop;
        };
        const watch = new ResizeObserver(onSize);
        watch.observe(content.current);
        watch.observe(box);
        box.addEventListener('scroll', onScroll, { passive: true });
        return () => {
            watch.disconnect();
            box.removeEventListener('scroll', onScroll);
        };
    }, [ui.openError.value]);
    useEffect(() => {
        if (sending > 0) {
            toEnd();
        }
    }, [sending]);
    return { frame, content, atEnd, toEnd };
}

/** @param {{ id: string, first: string }} props */
function Older({ id, first }) {
    const { actions } = useApp();
    const refusal = ui.refusals.value[`older:${id}`];
    return html`<button type="button" class="small older"
        onClick=${() => actions.older(id, first)}>
        ${t('thread.older')}</button>
        ${refusal && html`<p class="refusal" role="alert">${refusal}</p>`}`;
}

const Welcome = () => html`<div class="welcome">
    <h2>${t('welcome.title')}</h2>
    <p>${t('welcome.text')}</p>
</div>`;
