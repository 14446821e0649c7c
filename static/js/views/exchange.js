/**
 * exchange.js - one message and what belongs to it: its receipts, its Run, and
 * Runs that continue that one. Found by their ids, in whatever order they end.
 */
import { useEffect, useRef } from 'preact/hooks';

import { peekDraft, setDraft } from '../drafts.js';
import { t, when } from '../i18n.js';
import { html, useApp } from '../html.js';
import * as ui from '../ui.js';
import { waiting } from '../waiting.js';
import { Answer } from './answer.js';
import { Receipt } from './outcome.js';

/** @param {{ id: string }} props */
export function Exchange({ id }) {
    const { store } = useApp();
    const message = store.messages.get(id)?.value;
    const place = useRef(/** @type {HTMLElement | null} */ (null));
    const wanted = ui.showMessage.value === id;

    useEffect(() => {
        if (wanted) {
            ui.showMessage.value = '';
            place.current?.scrollIntoView({ block: 'start' });
            place.current?.focus({ preventScroll: true });
        }
    }, [wanted]);
    if (!message) {
        return null;
    }
    const runs = new Set(store.runsOf.get(id) ?? []);
    if (message.run_id) {
        runs.add(message.run_id);
    }
    const handoffs = new Set([...store.handoffsOf.get(id) ?? [],
        ...message.handoff_ids ?? []]);
    return html`
        <article class="exchange" ref=${place} tabindex="-1" data-message=${id}>
            <${Question} body=${message.body} at=${message.created_at} />
            ${handoffs.size > 0 && html`<ul class="receipts">
                ${[...handoffs].map((h) => html`<${Receipt} key=${h} id=${h}
                    link />`)}</ul>`}
            ${[...runs].map((r) => html`<${AnswerAndMore} key=${r} id=${r} />`)}
        </article>`;
}

/** A Run, and those that continue it without a message of their own.
 *  @param {{ id: string }} props
 *  @returns {any} */
function AnswerAndMore({ id }) {
    const { store } = useApp();
    const more = store.continuationsOf.get(id) ?? [];
    return html`<${Answer} id=${id} />
        ${more.map((r) => html`<${AnswerAndMore} key=${r} id=${r} />`)}`;
}

/** @param {{ body: string, at?: number }} props */
function Question({ body, at }) {
    return html`
        <div class="question">
            <p class="question-body" dir="auto">
                <span class="sr" dir="auto">${t('question.you')}: </span>${body}</p>
            ${at && html`<time class="quiet" dateTime=${
                new Date(at).toISOString()}>${when(at)}</time>`}
        </div>`;
}

/** A message on its way, or one that was refused.
 *  @param {{ row: import('../types.js').Pending }} props */
export function Unsent({ row }) {
    const { actions } = useApp();

    function edit() {
        const now = peekDraft(row.conversation);
        const text = now.text.trim() ? `${now.text}\n\n${row.body}` : row.body;
        setDraft(row.conversation, { text, mode: row.mode, key: row.key,
            keyFor: row.body });
        actions.discard(row);
        ui.focusComposer.value += 1;
    }
    return html`
        <article class="exchange">
            <${Question} body=${row.body} />
            ${row.state === 'sending'
                ? html`<p class="status quiet">${t(waiting
                    .value[`send:${row.key}`] === 'slow' ? 'wait.slow.send'
                    : 'send.sending')}</p>`
                : html`<div class="refused" role="alert">
                    <p>${t('send.refused')} ${row.detail}</p>
                    <button type="button" class="small"
                        onClick=${() => actions.retry(row)}>
                        ${t('send.retry')}</button>
                    <button type="button" class="small" onClick=${edit}>
                        ${t('send.edit')}</button>
                    <button type="button" class="small" onClick=${() =>
                        actions.discard(row)}>
                        ${t('send.discard')}</button>
                </div>`}
        </article>`;
}
