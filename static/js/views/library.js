/**
 * library.js - the documents that are searched: those that the account has
 * added, and the shared ones. Adding, by dropping or choosing; removing;
 * reading all again. A dialog over the page.
 *
 * @import { Health, LibraryDocument, LibraryRead } from '../types.js'
 * @import { Upload } from '../uploads.js'
 */
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';

import * as api from '../api.js';
import { has, t, when } from '../i18n.js';
import { Icon, html, useApp } from '../html.js';
import { useNewest } from '../newest.js';
import { persist } from '../send.js';
import * as ui from '../ui.js';
import { KINDS, addFiles, chosen, dropped, forgetEnded, retry, uploads,
} from '../uploads.js';
import { why } from '../words.js';

/** @typedef {{ documents: LibraryDocument[], read: LibraryRead | null,
 *      error: string }} Known */

export function Library() {
    const { store } = useApp();
    const box = useRef(/** @type {HTMLDialogElement | null} */ (null));
    const { value: known, ask, extend } = useNewest(/** @type {Known} */ (
        { documents: [], read: null, error: '' }));
    const [refused, setRefused] = useState('');
    const [said, setSaid] = useState('');
    const close = () => { ui.libraryOpen.value = false; };

    useLayoutEffect(() => {
        const { current } = box;
        current?.showModal();
        return () => current?.close();
    }, []);

    // Read when it is opened, and whenever the feed tells that it is another.
    const news = store.libraryNews.value;
    async function look() {
        const { tell } = ask();
        try {
            const read = await api.library();
            tell({ documents: read.documents, read, error: '' });
            setRefused('');
        } catch (failed) {
            tell((now) => ({ ...now, error: why(failed) }));
        }
    }
    useEffect(() => {
        look();
    }, [news]);

    async function more() {
        if (!known.read?.next) {
            return;
        }
        try {
            const read = await api.library(known.read.next);
            extend(known, { documents: [...known.documents, ...read.documents],
                read: { ...read, used: known.read.used }, error: '' });
        } catch (failed) {
            extend(known, { ...known, error: why(failed) });
        }
    }

    /** @param {() => Promise<any>} deed @param {string} done */
    async function act(deed, done) {
        try {
            await deed();
            setRefused('');
            setSaid(done);
            await look();
        } catch (failed) {
            setRefused(why(failed));
        }
    }
    /** @param {string} name */
    function remove(name) {
        const key = api.newKey();
        return act(() => persist(() => api.removeDocument(name, key)),
            t('library.removed', { name }));
    }
    const { read } = known;
    const own = known.documents.filter((d) => !d.shared);
    const shared = known.documents.filter((d) => d.shared);
    const isRead = read?.indexing ?? false;
    const error = refused || known.error;
    return html`
        <dialog class="find library" ref=${box} aria-label=${t('library')}
            onClose=${close} onClick=${(/** @type {MouseEvent} */ e) =>
                e.target === box.current && close()}>
            <div class="find-inside">
                <div class="find-head library-head">
                    <h2>${t('library')}</h2>
                    <button type="button" class="small" disabled=${isRead}
                        onClick=${() => act(api.readLibraryAgain,
                            t('library.asked'))}>${t('library.again')}</button>
                    <button type="button" class="icon-button" onClick=${close}
                        aria-label=${t('library.close')}>
                        <${Icon} name="close" /></button>
                </div>
                <${Drop} />
                ${error && html`<p class="refusal" role="alert">${error}</p>`}
                <p class="find-state quiet" role="status">${!read
                    ? (error ? '' : t('library.loading'))
                    : stateOfReading(read, store.health.value) || said}</p>
                <div class="finds library-list" tabindex="0" role="region"
                    aria-label=${t('library.documents')}>
                    <${Uploads} />
                    ${read && html`
                        <h3 class="find-title">${t('library.own')}
                            <span class="quiet"> ${t('library.used', {
                                files: own.length,
                                most: read.limits.files,
                                bytes: bytes(read.used.bytes),
                                mostBytes: bytes(read.limits.bytes) })}
                            </span></h3>
                        ${own.length === 0 && html`<p class="quiet
                            library-none">${t('library.none')}</p>`}
                        <ul>${own.map((d) => html`<${Row} key=${d.id}
                            document=${d} onRemove=${() => remove(d.name)} />`)}
                        </ul>
                        ${read.shared > 0 && html`
                            <h3 class="find-title">${t('library.shared')}
                                <span class="quiet"> ${t('library.count',
                                    { n: read.shared })}</span></h3>
                            <ul>${shared.map((d) => html`<${Row} key=${d.id}
                                document=${d} />`)}</ul>
                            ${read.next && html`<button type="button"
                                class="small" onClick=${more}>
                                ${t('find.more')}</button>`}`}`}
                </div>
            </div>
        </dialog>`;
}

/** @param {LibraryRead} read @param {Health | null} health */
function stateOfReading({ indexing, failing }, health) {
    if (health?.runtime === 'absent' && (indexing || failing)) {
        return t('library.absent');
    }
    if (failing) {
        const key = `library.failing.${failing.reason}`;
        return t('library.failing', { at: when(failing.retry_at),
            why: t(has(key) ? key : 'library.failing.other') });
    }
    return indexing ? t('library.reading') : '';
}

/** @param {number} n */
const bytes = (n) => n >= 1048576 ? t('library.mb', { n: Math.round(n / 104857.6) / 10 })
    : t('library.kb', { n: Math.ceil(n / 1024) });

// --- adding --------------------------------------------------------------------

function Drop() {
    const [over, setOver] = useState(false);
    const [note, setNote] = useState('');
    const files = useRef(/** @type {HTMLInputElement | null} */ (null));
    const folder = useRef(/** @type {HTMLInputElement | null} */ (null));

    /** @param {import('../uploads.js').Picked} picked */
    function take({ files: list, passed }) {
        addFiles(list);
        setNote(passed > 0 ? t('library.passed', { n: passed })
            : list.length === 0 ? t('library.nothing') : '');
    }
    /** @param {any} event */
    async function drop(event) {
        event.preventDefault();
        setOver(false);
        try {
            take(await dropped(event.dataTransfer));
        } catch {
            setNote(t('library.unreadable'));
        }
    }
    /** @param {any} event */
    function choose({ currentTarget: input }) {
        take(chosen(input.files));
        input.value = ''; // the same file may be chosen again
    }
    /** @param {any} event @param {boolean} on */
    function hover(event, on) {
        event.preventDefault();
        setOver(on);
    }
    return html`
        <div class=${`drop${over ? ' over' : ''}`} onDrop=${drop}
            onDragOver=${(/** @type {any} */ e) => hover(e, true)}
            onDragLeave=${(/** @type {any} */ e) => hover(e, false)}>
            <p>${t('library.drop')}</p>
            <p class="drop-buttons">
                <button type="button" class="small" onClick=${() =>
                    files.current?.click()}>${t('library.files')}</button>
                <button type="button" class="small" onClick=${() =>
                    folder.current?.click()}>${t('library.folder')}</button></p>
            <p class="quiet">${t('library.kinds')}</p>
            <input type="file" multiple hidden ref=${files} class="pick-files"
                accept=${KINDS.join(',')} onChange=${choose} />
            <input type="file" multiple hidden ref=${folder} class="pick-folder"
                webkitdirectory onChange=${choose} />
            <p class="quiet" role="status">${note}</p>
        </div>`;
}

function Uploads() {
    const all = uploads.value;
    const ended = all.filter((u) => u.state !== 'waiting'
        && u.state !== 'sending');
    const refused = ended.filter((u) => u.state === 'refused');
    if (all.length === 0) {
        return null;
    }
    return html`
        <h3 class="find-title">${t('library.uploads')}
            <span class="quiet" role="status"> ${t('library.progress', {
                done: ended.length - refused.length, all: all.length,
                refused: refused.length })}</span>
            ${ended.length > 0 && html`<button type="button" class="small"
                onClick=${forgetEnded}>${t('library.forget')}</button>`}</h3>
        <ul>${all.map((u) => html`<${UploadRow} key=${u.key} upload=${u} />`)}
        </ul>`;
}

/** @param {{ upload: Upload }} props */
function UploadRow({ upload: u }) {
    const percent = Math.floor(u.share * 100);
    return html`<li class="doc">
        <span class="doc-name" dir="auto">${u.name}</span>
        <span class=${`doc-state ${u.state === 'refused' ? 'bad' : 'quiet'}`}>
            ${u.state === 'sending' ? t('library.sending', { percent })
                : u.state === 'refused' ? refusal(u.why)
                : t(`library.${u.state}`)}</span>
        ${u.state === 'sending' && html`<progress max="100" value=${percent}
            aria-label=${u.name}></progress>`}
        ${u.state === 'refused' && mayPass(u.why) && html`<button type="button" class="small"
            onClick=${() => retry(u)}>${t('send.retry')}</button>`}
    </li>`;
}

/** Whether the same may be taken another time. @param {any} error */
const mayPass = (error) => !error?.status || error.status >= 500;

/** @param {any} error */
const refusal = (error) => has(`library.problem.${error?.code}`)
    ? t(`library.problem.${error.code}`) : why(error);

// --- one document ----------------------------------------------------------------

/** @param {LibraryDocument} d */
function stateOf(d) {
    if (d.state === 'failed') {
        const key = `library.reason.${String(d.reason).replaceAll(' ', '_')}`;
        return t('library.failed', { why: has(key) ? t(key) : d.reason ?? '' });
    }
    return d.state === 'waiting' ? t('library.waits')
        : t('library.passages', { n: d.passages });
}

/** @param {{ document: LibraryDocument, onRemove?: () => void }} props */
function Row({ document: d, onRemove }) {
    const [sure, setSure] = useState(false);
    const place = useRef(/** @type {HTMLElement | null} */ (null));
    const before = useRef(false);

    // The button that was pressed is gone: go to what came in its place.
    useLayoutEffect(() => {
        if (before.current !== sure && document.activeElement === document.body) {
            /** @type {HTMLElement | null | undefined} */ (
                place.current?.querySelector(sure ? '.keep' : '.doc-remove')
            )?.focus();
        }
        before.current = sure;
    }, [sure]);
    return html`<li class="doc" ref=${place}>
        <span class="doc-name" dir="auto" title=${d.name}>${d.name}</span>
        <span class=${`doc-state ${d.state === 'failed' ? 'bad' : 'quiet'}`}>
            ${bytes(d.bytes)} · ${stateOf(d)}</span>
        ${sure ? html`<span class="doc-sure" key="sure">
                <span>${t('library.sure')}</span>
                <button type="button" class="small danger" onClick=${() => {
                    setSure(false);
                    onRemove?.();
                }}>${t('library.remove.sure')}</button>
                <button type="button" class="small keep" onClick=${() =>
                    setSure(false)}>${t('cancel')}</button></span>`
            : onRemove && html`<button type="button" key="tools"
                class="icon-button doc-remove" onClick=${() => setSure(true)}
                aria-label=${t('library.remove', { name: d.name })}>
                <${Icon} name="bin" /></button>`}
    </li>`;
}
