/** list.js - the conversations: open, make, rename, delete. */
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';

import { chooseLanguage, lang, t } from '../i18n.js';
import { Icon, html, useApp } from '../html.js';
import { LANGUAGES } from '../keep.js';
import * as ui from '../ui.js';
import { isEscape } from './field.js';
import { Leave } from './leave.js';
import { Waiting } from './waiting.js';

export function ConversationList() {
    const { store, actions } = useApp();
    const all = store.list();
    const { tokens, scope, session } = store.access.value;

    function begin() {
        actions.open('');
        ui.focusComposer.value += 1;
    }
    return html`
        <nav class="list" aria-label=${t('list.label')}>
            <div class="list-head">
                <span class="brand">Aside</span>
                <button type="button" class="icon-button close-list"
                    aria-label=${t('list.close')}
                    onClick=${() => { ui.listOpen.value = false; }}>
                    <${Icon} name="close" /></button>
            </div>
            <button type="button" class="new" onClick=${begin}>
                <${Icon} name="plus" /> ${t('list.new')}</button>
            <button type="button" class="new find-open" aria-haspopup="dialog"
                aria-keyshortcuts="Control+K" title="Ctrl+K"
                onClick=${() => { ui.findOpen.value = true; }}>
                <${Icon} name="search" /> ${t('find.open')}
                <kbd aria-hidden="true">Ctrl K</kbd></button>
            <button type="button" class="new find-open library-open" aria-haspopup="dialog"
                onClick=${() => { ui.libraryOpen.value = true; }}>
                <${Icon} name="file" /> ${t('library')}</button>
            ${store.loaded.value && all.length === 0 && html`
                <p class="quiet list-empty">${t('list.empty')}</p>`}
            <ul class="conversations">
                ${all.map((c) => html`<${Row} key=${c.id} conversation=${c}
                    open=${c.id === ui.current.value} />`)}
            </ul>
            <div class="list-foot">
                <${Language} />
                <button type="button" class="audit-open" aria-haspopup="dialog"
                    onClick=${() => { ui.auditOpen.value = true; }}>
                    ${t('audit')}</button>
                ${tokens && scope === 'admin' && html`<button type="button"
                    class="audit-open" aria-haspopup="dialog"
                    onClick=${() => { ui.accessOpen.value = true; }}>
                    ${t('access')}</button>`}
                ${session && html`<${Leave} />`}
            </div>
        </nav>`;
}

export function Language() {
    const [failed, setFailed] = useState(false);

    /** @param {any} event */
    async function choose({ currentTarget: select }) {
        setFailed(false);
        try {
            await chooseLanguage(select.value);
        } catch {
            select.value = lang.peek();
            setFailed(true);
        }
    }
    return html`
        <label class="language">
            <span class="sr">${t('language')}</span>
            <select value=${lang.value} onChange=${choose}>
                ${LANGUAGES.map((code) => html`
                    <option value=${code} selected=${code === lang.value}>
                        ${t(`language.${code}`)}</option>`)}
            </select>
        </label>
        ${failed && html`<p class="refusal" role="alert">
            ${t('language.failed')}</p>`}`;
}

/**
 * @param {{ conversation: import('../types.js').Conversation,
 *           open: boolean }} props
 */
function Row({ conversation, open }) {
    const { store, actions } = useApp();
    const waits = store.activeResearch().some((run) =>
        run.conversation_id === conversation.id
        && run.state === 'awaiting_input');
    const [mode, setMode] = useState('');
    const title = conversation.title || t('list.untitled');
    const [refusal, setRefusal] = useState('');
    const done = () => setMode('');
    const place = useRef(/** @type {HTMLElement | null} */ (null));
    const before = useRef('');

    // The button that was pressed is gone: go to what came in its place.
    useLayoutEffect(() => {
        const at = mode === 'delete' ? '.row-sure .small:not(.danger)'
            : before.current === 'rename' ? '.rename-open' : '.delete-open';
        if (mode !== before.current && document.activeElement === document.body) {
            /** @type {HTMLElement | null | undefined} */ (
                place.current?.querySelector(at))?.focus();
        }
        before.current = mode;
    }, [mode]);

    async function remove() {
        done();
        setRefusal(await actions.remove(conversation.id));
    }
    if (mode === 'rename') {
        return html`<${Rename} conversation=${conversation} onDone=${done} />`;
    }
    return html`
        <li class=${`row${open ? ' open' : ''}`} ref=${place}>
            <button type="button" class="row-open" title=${title}
                aria-current=${open ? 'page' : undefined}
                onClick=${() => actions.open(conversation.id)}>
                <span class="row-title" dir="auto">${title}</span>
                ${conversation.active_runs > 0 && html`
                    <span class=${`dot ${waits ? 'waiting' : 'running'}`}></span>
                    <span class="sr">${waits ? t('background.waiting')
                        : t('list.active', { n: conversation.active_runs })}
                    </span>`}
                ${conversation.active_runs === 0 && conversation.unread > 0
                    && !open && html`<span class="dot unread"></span>
                    <span class="sr">${t('list.unread')}</span>`}
            </button>
            ${mode === 'delete' ? html`
                <span class="row-sure" key="sure"><button type="button"
                    class="small danger" onClick=${remove}>${t('list.delete.sure')}</button>
                <button type="button" class="small" onClick=${done}>
                    ${t('cancel')}</button></span>`
                : html`<span class="row-tools" key="tools">
                <button type="button" class="icon-button rename-open"
                    aria-label=${t('list.rename', { title })}
                    onClick=${() => setMode('rename')}>
                    <${Icon} name="pen" /></button>
                <button type="button" class="icon-button delete-open"
                    aria-label=${t('list.delete', { title })}
                    onClick=${() => setMode('delete')}>
                    <${Icon} name="bin" /></button></span>`}
            <${Waiting} place=${`remove:${conversation.id}`}
                word="wait.remove" />
            ${refusal && html`<p class="refusal" role="alert">${refusal}</p>`}
        </li>`;
}

/**
 * @param {{ conversation: import('../types.js').Conversation,
 *           onDone: () => void }} props
 */
function Rename({ conversation, onDone }) {
    const { actions } = useApp();
    const field = useRef(/** @type {HTMLInputElement | null} */ (null));
    const [refusal, setRefusal] = useState('');
    useEffect(() => field.current?.select(), []);

    /** @param {Event} event */
    async function save(event) {
        event.preventDefault();
        const title = field.current?.value.trim() ?? '';
        const failed = title && title !== conversation.title
            ? await actions.rename(conversation.id, title) : '';
        if (failed) {
            setRefusal(failed);
        } else {
            onDone();
        }
    }
    return html`
        <li class="row open">
            <form class="rename" onSubmit=${save}>
                <input ref=${field} value=${conversation.title} maxlength="200"
                    aria-label=${t('list.rename.label')} onBlur=${save}
                    onKeyDown=${(/** @type {KeyboardEvent} */ e) =>
                        isEscape(e) && onDone()} />
            </form>
            <${Waiting} place=${`rename:${conversation.id}`}
                word="wait.rename" />
            ${refusal && html`<p class="refusal" role="alert">${refusal}</p>`}
        </li>`;
}
