/** things.mjs - things of the API with all their fields, for tests. */

/** @param {Partial<import('../../static/js/types.js').Run>} [fields] */
export const run = (fields = {}) => ({
    id: 'run_1', conversation_id: 'conv_1', message_id: 'msg_1', kind: 'short',
    depth: 'normal', state: 'running', phase: 'answering', reason: null,
    title: '', progress: '', lead: null, created_at: 1, started_at: 1,
    ended_at: null, continues: null, question: null, missing_info: 'ask',
    budget: { requests: { used: 0, limit: 1 }, tool_calls: { used: 0, limit: 1 },
        seconds: { used: 0, limit: 1 },
        tokens: { used: 0, limit: 1, unknown_requests: 0 } },
    coverage: [], answer: answer(1, 0), ...fields });

/** @param {number} revision @param {number} parts @param {string} [body] */
export const answer = (revision, parts, body) => ({ revision, parts,
    ...(body === undefined ? {} : { body }), complete: false, draft: false });

/** @param {string} id @param {object} [fields] */
export const message = (id, fields = {}) => ({ id, conversation_id: 'conv_1',
    role: 'user', body: `text of ${id}`, run_id: null, handoff_ids: [],
    created_at: 1, ...fields });

/** @param {object} [fields] */
export const handoff = (fields = {}) => ({ id: 'hand_1', kind: 'adjustment',
    message_id: 'msg_1', run_id: 'run_1', origin: 'panel', state: 'received',
    reason: null, request_id: null, created_at: 1, handed_at: null, ...fields });

/** @param {object} [fields] */
export const conversation = (fields = {}) => ({ id: 'conv_1', title: 'One',
    created_at: 1, updated_at: 1, active_runs: 0, unread: 0, ...fields });

/** @param {number} asOf @param {object} [fields] */
export const page = (asOf, fields = {}) => ({ as_of: asOf, feed: 'f',
    conversation: conversation(), messages: [], runs: [], handoffs: [],
    has_more: false, ...fields });

/** @param {number} asOf @param {object} run @param {object} [fields] */
export const runRead = (asOf, run, fields = {}) => ({ as_of: asOf, feed: 'f',
    run, requests: [], tool_calls: [], handoffs: [], sources: [], ...fields });

/** @param {number} seq @param {number} part @param {string} text
 *  @param {object} [fields] */
export const part = (seq, part, text, fields = {}) => ({ seq,
    kind: 'answer.part', conversation_id: 'conv_1', run_id: 'run_1',
    revision: 1, part, text, ...fields });

/** @param {number} seq @param {object} run */
export const updated = (seq, run) => ({ seq, kind: 'run.updated',
    conversation_id: run.conversation_id, run_id: run.id, run });

/** @param {object[]} changes @param {number} [next] */
export const changes = (changes, next) => ({ changes,
    next: next ?? Math.max(0, ...changes.map((c) => c.seq)), reset: false,
    feed: 'f' });
