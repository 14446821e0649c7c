/**
 * uploads.js - files on their way into the library, one after the other. They
 * go on when the library is closed, and are known until the page is left.
 *
 * XMLHttpRequest, since fetch does not tell how much has left.
 *
 * @typedef {'waiting' | 'sending' | 'added' | 'replaced' | 'refused'} UploadState
 * @typedef {{ key: number, name: string, file: File, state: UploadState,
 *     share: number, why: unknown }} Upload
 */
import { signal } from '@preact/signals';

import { ApiError, documentPath } from './api.js';

/** Longer than any file takes that is accepted, on a slow line. */
const SEND_MS = 300_000;

/** Files that the server takes (library_files.h). */
export const KINDS = ['.md', '.txt', '.html', '.htm', '.pdf'];
export const MAX_BYTES = 5 * 1024 * 1024;

/** @type {import('@preact/signals').Signal<Upload[]>} */
export const uploads = signal([]);

let keys = 0;
let busy = false;

/** @param {number} key @param {Partial<Upload>} news */
function change(key, news) {
    uploads.value = uploads.peek().map((u) =>
        u.key === key ? { ...u, ...news } : u);
}

/** @param {{ name: string, file: File }[]} files */
export function addFiles(files) {
    const names = new Set(files.map((f) => f.name));
    uploads.value = [
        // What is added again takes the place of what became of it before.
        ...uploads.peek().filter((u) => !names.has(u.name)
            || u.state === 'waiting' || u.state === 'sending'),
        ...files.map(({ name, file }) => ({ key: keys += 1, name, file,
            state: /** @type {UploadState} */ ('waiting'), share: 0,
            why: null })),
    ];
    run();
}

/** @param {Upload} upload */
export const retry = ({ name, file }) => addFiles([{ name, file }]);

/** Forget those that have come to an end. */
export function forgetEnded() {
    uploads.value = uploads.peek().filter((u) => u.state === 'waiting'
        || u.state === 'sending');
}

/** @param {Upload} u @returns {unknown}  why it is not even sent */
const obstacle = (u) => (!isKind(u.name) ? new ApiError(415, 'file_kind', '')
    : u.file.size > MAX_BYTES ? new ApiError(413, 'file_too_large', '') : null);

async function run() {
    if (busy) {
        return;
    }
    busy = true;
    for (let u; (u = uploads.peek().find((x) => x.state === 'waiting'));) {
        const { key } = u;
        try {
            const why = obstacle(u);
            if (why) {
                throw why;
            }
            change(key, { state: 'sending' });
            const reply = await send(u, (share) => change(key, { share }));
            change(key, { state: reply.replaced ? 'replaced' : 'added',
                share: 1 });
        } catch (why) {
            change(key, { state: 'refused', why });
        }
    }
    busy = false;
}

/** @param {XMLHttpRequest} xhr */
function problemOf(xhr) {
    try {
        const { code, title, detail } = JSON.parse(xhr.responseText);
        return new ApiError(xhr.status, String(code ?? ''),
            `${title}. ${detail}`);
    } catch {
        // A web server's own error page: the status has to do.
        return new ApiError(xhr.status, '', '');
    }
}

/**
 * @param {Upload} upload @param {(share: number) => void} tell
 * @returns {Promise<{ replaced: boolean }>}
 */
function send({ name, file }, tell) {
    return new Promise((resolve, reject) => {
        const xhr = new XMLHttpRequest();
        const gone = () => reject(new ApiError(0, 'no_connection', ''));

        xhr.open('PUT', documentPath(name));
        xhr.timeout = SEND_MS;
        xhr.setRequestHeader('Accept', 'application/json');
        xhr.setRequestHeader('Content-Type', 'application/octet-stream');
        xhr.upload.onprogress = ({ loaded, total }) =>
            tell(total > 0 ? loaded / total : 0);
        xhr.onerror = gone;
        xhr.ontimeout = gone;
        xhr.onload = () => (xhr.status === 200 || xhr.status === 201
            ? resolve({ replaced: xhr.status === 200 })
            : reject(problemOf(xhr)));
        xhr.send(file);
    });
}

// --- what was dropped or chosen ------------------------------------------------

/** @typedef {{ files: { name: string, file: File }[], passed: number }} Picked */

/** @param {string} name */
const isKind = (name) => KINDS.some((k) => name.toLowerCase().endsWith(k));

/** @param {string} name */
const isHidden = (name) => name.split('/').some((part) => part.startsWith('.'));

/**
 * What a person named goes to the server, which says what is wrong with it; of
 * a folder only what it can take. Names are composed as most systems write
 * them: one that takes accents apart would not know its own files again.
 * @param {{ name: string, file: File }[]} found @returns {Picked}
 */
export function sortOut(found) {
    const files = found.map(({ name, file }) => ({ name: name.normalize('NFC'),
        file })).filter(({ name }) => !name.includes('/')
            || (isKind(name) && !isHidden(name)));
    return { files, passed: found.length - files.length };
}

/** @param {Iterable<File>} list */
export const chosen = (list) => sortOut([...list].map((file) => ({ file,
    name: file.webkitRelativePath || file.name })));

/** @param {any} entry @returns {Promise<any>} */
const fileOf = (entry) => new Promise((resolve, reject) =>
    entry.file(resolve, reject));

/** A folder is read in pieces, until one is empty. @param {any} entry */
async function entriesOf(entry) {
    const reader = entry.createReader();
    const all = [];
    for (;;) {
        const some = await new Promise((resolve, reject) =>
            reader.readEntries(resolve, reject));
        if (some.length === 0) {
            return all;
        }
        all.push(...some);
    }
}

/** @param {any} entry @param {string} prefix
 *  @param {{ name: string, file: File }[]} found */
async function collect(entry, prefix, found) {
    if (entry.isFile) {
        found.push({ name: prefix + entry.name, file: await fileOf(entry) });
    } else if (entry.isDirectory) {
        for (const below of await entriesOf(entry)) {
            await collect(below, `${prefix}${entry.name}/`, found);
        }
    }
}

/** @param {DataTransfer} data @returns {Promise<Picked>} */
export async function dropped(data) {
    // Both lists are empty once the event is over.
    const entries = [...data.items].map((item) => item.webkitGetAsEntry?.())
        .filter((entry) => entry);
    const plain = [...data.files];
    /** @type {{ name: string, file: File }[]} */
    const found = [];
    for (const entry of entries) {
        await collect(entry, '', found);
    }
    return entries.length > 0 ? sortOut(found) : chosen(plain);
}
