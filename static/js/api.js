/**
 * api.js - the only user of fetch. Paths hang on where the page stands, so
 * that it works below any prefix.
 *
 * @import { Accepted, AuditRead, SessionRead, TokenMade, TokenRead, Changes, ConversationRead, Health, LibraryRead, Mode,
 *           Overview, RunList, RunRead, SearchRead } from './types.js'
 */

import { FILES, ROOT } from './place.js';
import { isReply } from './shapes.js';

const API = new URL('api/v1/', ROOT);

const READ_MS = 20_000;
const WRITE_MS = 20_000;

/** How much longer than its hold a long poll may take. */
const POLL_GRACE_MS = 15_000;

/** These are answered whoever asks. */
const OPEN = ['health', 'session'];

/** Told what became of each call of somebody who must be known.
 *  @type {(error: any) => void} */
let tell = () => {};

/** @param {(error: any) => void} listener  null: it was done */
export const onOutcome = (listener) => { tell = listener; };

/** A refusal by the server, or no answer at all (`status` 0). */
export class ApiError extends Error {
    /**
     * @param {number} status @param {string} code @param {string} detail
     * @param {number} [retryAfterMs]
     */
    constructor(status, code, detail, retryAfterMs = 0) {
        super(detail || code);
        this.status = status;
        this.code = code;
        this.detail = detail;
        this.retryAfterMs = retryAfterMs;
    }

    /** Whether the request may have been carried out all the same. */
    get unsure() {
        return this.status === 0 || this.status === 502 || this.status === 504;
    }
}

/** @param {Response} response */
async function toError(response) {
    const after = Number(response.headers.get('Retry-After')) * 1000 || 0;
    let code = '';
    let detail = '';
    try {
        const problem = await response.json();
        code = String(problem.code ?? '');
        detail = [problem.title, problem.detail].filter((text) => text)
            .map((text) => String(text).replace(/\.?$/, '.')).join(' ');
    } catch {
        // A web server's own error page: the status has to do.
    }
    return new ApiError(response.status, code, detail, after);
}

/**
 * @param {string} method @param {string} path
 * @param {{ body?: object, key?: string, signal?: AbortSignal,
 *           ms?: number }} [options]
 * @returns {Promise<any>}
 */
async function call(method, path, options = {}) {
    const { body, key, signal } = options;
    const abort = new AbortController();
    const timer = setTimeout(() => abort.abort(), options.ms ?? READ_MS);
    const onAbort = () => abort.abort();
    signal?.addEventListener('abort', onAbort);
    try {
        const response = await fetch(new URL(path, API), {
            method,
            body: body ? JSON.stringify(body) : undefined,
            headers: {
                Accept: 'application/json',
                ...(body ? { 'Content-Type': 'application/json' } : {}),
                ...(key ? { 'Idempotency-Key': key } : {}),
            },
            cache: 'no-store',
            signal: abort.signal,
        });
        if (!response.ok) {
            throw await toError(response);
        }
        const reply = response.status === 204 ? {} : await response.json();
        if (!OPEN.includes(path)) {
            tell(null);
        }
        return reply;
    } catch (error) {
        tell(error);
        throw error instanceof ApiError ? error
            : new ApiError(0, 'no_connection', '');
    } finally {
        clearTimeout(timer);
        signal?.removeEventListener('abort', onAbort);
    }
}

/** @param {string} path @param {object} body @param {string} key */
const post = (path, body, key) =>
    call('POST', path, { body, key, ms: WRITE_MS });

const id = encodeURIComponent;

/** @returns {Promise<Health>} */
export const health = () => call('GET', 'health');

/** The browser is given a cookie. @param {string} token
 *  @returns {Promise<{ account: string }>} */
export const login = (token) =>
    call('POST', 'session', { body: { token }, ms: WRITE_MS });

export const logout = () => call('DELETE', 'session', { ms: WRITE_MS });

/** @returns {Promise<SessionRead>} */
export const sessions = () => call('GET', 'sessions');

/** @param {string} session */
export const endSession = (session) =>
    call('DELETE', `sessions/${id(session)}`, { ms: WRITE_MS });

/** @returns {Promise<TokenRead>} */
export const tokens = () => call('GET', 'tokens');

/**
 * @param {string} name @param {string} scope @param {number} days
 * @param {string} key
 * @returns {Promise<TokenMade>}
 */
export const makeToken = (name, scope, days, key) =>
    post('tokens', { name, scope, days }, key);

/** @param {string} token */
export const revokeToken = (token) =>
    call('DELETE', `tokens/${id(token)}`, { ms: WRITE_MS });

/** @returns {Promise<Overview>} */
export const overview = () => call('GET', 'overview');

/**
 * @param {string} conversation @param {string} [before]  a message
 * @returns {Promise<ConversationRead>}
 */
export const conversation = (conversation, before) =>
    call('GET', `conversations/${id(conversation)}?limit=50${
        before ? `&before=${id(before)}` : ''}`);

/** Messages, answers and reports that hold the words.
 *  @param {string} text @param {string} [before]  `next` of the page before
 *  @returns {Promise<SearchRead>} */
export const search = (text, before) => call('GET', `search?q=${id(text)}${
    before ? `&before=${before}` : ''}`);

/** The audit log, newest first.
 *  @param {string} [before]  a line of it
 *  @returns {Promise<AuditRead>} */
export const audit = (before) => call('GET', `audit?limit=100${
    before ? `&before=${id(before)}` : ''}`);

/** Documents, the account's own and shared ones.
 *  @param {string} [after]  `next` of the page before
 *  @returns {Promise<LibraryRead>} */
export const library = (after) => call('GET', `library${
    after ? `?after=${id(after)}` : ''}`);

/** Where a document lies. @param {string} name */
export const documentPath = (name) => new URL(`library/files/${
    name.split('/').map(id).join('/')}`, API);

/** @param {string} name @param {string} key */
export const removeDocument = (name, key) =>
    call('DELETE', documentPath(name).href, { key, ms: WRITE_MS });

export const readLibraryAgain = () => call('POST', 'library/index');

/** Research of all conversations, newest first.
 *  @param {string} state  '' for all @param {string} [before]  a Run
 *  @returns {Promise<RunList>} */
export const research = (state, before) => call('GET',
    `runs?kind=research&limit=50${state ? `&state=${state}` : ''}${
        before ? `&before=${id(before)}` : ''}`);

/** Research of one conversation, newest first.
 *  @param {string} conversation @param {string} before  a Run, or ''
 *  @returns {Promise<RunList>} */
export const researchIn = (conversation, before) => call('GET',
    `runs?kind=research&limit=50&conversation=${id(conversation)}${
        before ? `&before=${id(before)}` : ''}`);

/** @param {string} run @returns {Promise<RunRead>} */
export const run = (run) => call('GET', `runs/${id(run)}`);

/**
 * @param {number} after @param {number} wait  seconds
 * @param {AbortSignal} signal
 * @returns {Promise<Changes>}
 */
export async function changes(after, wait, signal) {
    const reply = await call('GET', `changes?after=${after}&wait=${wait}`,
        { signal, ms: wait * 1000 + POLL_GRACE_MS });
    if (!isReply(reply)) {
        throw new ApiError(0, 'no_connection', '');
    }
    return reply;
}

/** @param {string} title @param {string} key @returns {Promise<Accepted>} */
export const createConversation = (title, key) =>
    post('conversations', title ? { title } : {}, key);

/**
 * Rename it, or say that its results were seen.
 * @param {string} conversation
 * @param {{ title: string } | { seen: true }} fields
 * @returns {Promise<Accepted>}
 */
export const changeConversation = (conversation, fields) =>
    call('PATCH', `conversations/${id(conversation)}`,
        { body: fields, ms: WRITE_MS });

/** @param {string} conversation @param {string} key */
export const deleteConversation = (conversation, key) =>
    call('DELETE', `conversations/${id(conversation)}`, { key, ms: WRITE_MS });

/** The fields of a message for each way of asking. */
const MODES = {
    auto: {},
    background: { mode: 'background' },
    deep: { mode: 'background', depth: 'deep' },
};

/**
 * @param {string} conversation @param {string} body @param {Mode} mode
 * @param {string} key @returns {Promise<Accepted>}
 */
export const sendMessage = (conversation, body, mode, key) =>
    post(`conversations/${id(conversation)}/messages`,
        { body, ...MODES[mode] }, key);

/** @param {string} run @param {string} body @param {string} key */
export const adjust = (run, body, key) =>
    post(`runs/${id(run)}/adjustments`, { body }, key);

/** @param {string} run @param {string} body @param {string} key */
export const reply = (run, body, key) =>
    post(`runs/${id(run)}/reply`, { body }, key);

/** @param {string} run @param {string} body  may be '' @param {string} key */
export const proceed = (run, body, key) =>
    post(`runs/${id(run)}/continue`, body.trim() ? { body } : {}, key);

/**
 * @param {string} approval @param {'once' | 'run' | 'deny'} decision
 * @param {string} note  to the model, with a denial; '' for none
 * @param {string} key
 */
export const decide = (approval, decision, note, key) =>
    post(`approvals/${id(approval)}`, note ? { decision, note } : { decision },
        key);

/** @param {string} run @param {string} key */
export const stop = (run, key) => post(`runs/${id(run)}/stop`, {}, key);

/** @param {string} run @param {'md' | 'html'} format */
export const reportUrl = (run, format) =>
    new URL(`runs/${id(run)}/report?format=${format}`, API).href;

/** A passage whole, as the Run keeps it. @param {string} source */
export const sourceUrl = (source) =>
    new URL(`sources/${id(source)}/text`, API).href;

/** The interface's texts. @param {string} lang */
export async function texts(lang) {
    const response = await fetch(new URL(`text/${lang}.json`, FILES),
        { signal: AbortSignal.timeout(READ_MS) });
    if (!response.ok) {
        throw await toError(response);
    }
    return response.json();
}

/** A new Idempotency-Key. randomUUID exists only in secure contexts. */
export function newKey() {
    if (typeof crypto.randomUUID === 'function') {
        return crypto.randomUUID();
    }
    const bytes = crypto.getRandomValues(new Uint8Array(16));
    return Array.from(bytes, (b) => b.toString(16).padStart(2, '0')).join('');
}
