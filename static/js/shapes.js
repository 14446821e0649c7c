/**
 * shapes.js - the members of each thing that the page counts on. What lacks
 * them is refused before any of it is taken in, so that it breaks no view.
 *
 * @typedef {string | { [member: string]: Shape }} Shape  a type of typeof,
 *     'list', or an object with such members
 */

const QUOTA = { used: 'number', limit: 'number' };

export const ANSWER = { revision: 'number', parts: 'number' };

export const RUN = { id: 'string', conversation_id: 'string', kind: 'string',
    state: 'string', title: 'string', created_at: 'number', coverage: 'list',
    answer: ANSWER, budget: { requests: QUOTA, tool_calls: QUOTA,
        seconds: QUOTA, tokens: QUOTA } };

export const MESSAGE = { id: 'string', conversation_id: 'string',
    body: 'string', created_at: 'number' };

export const CONVERSATION = { id: 'string', title: 'string',
    updated_at: 'number', active_runs: 'number', unread: 'number' };

export const HANDOFF = { id: 'string', run_id: 'string', message_id: 'string',
    kind: 'string', state: 'string', created_at: 'number' };

export const REQUEST = { id: 'string', run_id: 'string', purpose: 'string',
    state: 'string' };

export const CALL = { id: 'string', run_id: 'string', name: 'string',
    state: 'string' };

export const SOURCE = { id: 'string', run_id: 'string', n: 'number',
    title: 'string', location: 'string', heading: 'string', text: 'string' };

export const PART = { run_id: 'string', revision: 'number', part: 'number',
    text: 'string' };

/** A reply to a poll; each of its changes is looked at by itself. */
const REPLY = { changes: 'list', next: 'number', feed: 'string' };

/** @param {any} value @param {Shape} shape @returns {boolean} */
function fits(value, shape) {
    if (typeof shape === 'string') {
        return shape === 'list' ? Array.isArray(value)
            : typeof value === shape;
    }
    return typeof value === 'object' && value !== null && Object.entries(shape)
        .every(([member, inner]) => fits(value[member], inner));
}

/** @param {any} value @param {Shape} shape */
export function must(value, shape) {
    if (!fits(value, shape)) {
        throw new TypeError(`no ${Object.keys(shape).join()} in it`);
    }
}

/** @param {any} reply */
export const isReply = (reply) => fits(reply, REPLY);
