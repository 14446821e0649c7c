/**
 * timeline.js - the rows of a Run as stretches of time. Pure.
 *
 * @import { Details, Handoff, Run, ToolCall } from './types.js'
 */

/**
 * @typedef {object} Item
 * @property {string} id
 * @property {string} what  a kind that texts know: request, closeout, call ...
 * @property {ToolCall | null} call
 * @property {number} start  Unix ms
 * @property {number | null} end  null: not yet
 * @property {boolean} point  a moment, not a stretch
 * @property {string} state
 * @property {string | null} cause
 */

/** @typedef {{ name: string, items: Item[] }} Row */

/** A picture of less than this would show noise. */
const LEAST_MS = 1000;

/** @param {Partial<Item> & { id: string, what: string, start: number,
 *     state: string }} item @returns {Item} */
const make = (item) => ({ call: null, end: null, point: false, cause: null,
    ...item });

/**
 * What happened in a Run, by kind, and the time that it spans. Rows without
 * anything are left out.
 * @param {Run} run @param {Details | undefined} details
 * @param {Handoff[]} handoffs @param {number} end  Unix ms
 * @returns {{ rows: Row[], from: number, to: number }}
 */
export function events(run, details, handoffs, end) {
    const from = run.created_at;
    const to = Math.max(end, from + LEAST_MS);
    const calls = (details?.calls ?? []).map((e) => e.value)
        .filter((c) => c.started_at !== null);
    /** @type {Row[]} */
    const rows = [{
        name: 'requests',
        items: (details?.requests ?? []).map((e) => e.value)
            .filter((q) => q.sent_at !== null)
            .map((q) => make({ id: q.id,
                what: q.purpose === 'closeout' ? 'closeout' : 'request',
                start: q.sent_at ?? 0, end: q.ended_at, state: q.state,
                cause: q.cause })),
    }, {
        name: 'calls',
        items: calls.filter((c) => c.name !== 'ask_user')
            .map((c) => make({ id: c.id, what: 'call', call: c,
                start: c.started_at ?? 0, end: c.ended_at, state: c.state,
                cause: c.cause })),
    }, {
        name: 'waiting',
        items: calls.filter((c) => c.name === 'ask_user')
            .map((c) => make({ id: c.id, what: 'question',
                start: c.started_at ?? 0, end: c.ended_at, state: c.state,
                cause: c.cause })),
    }, {
        name: 'handoffs',
        items: handoffs.map((h) => make({ id: h.id, what: h.kind,
            start: h.created_at, end: h.handed_at ?? h.created_at,
            point: h.handed_at === null, state: h.state })),
    }];
    return { rows: rows.filter((row) => row.items.length > 0), from, to };
}

/**
 * Seconds a research has been at work. The server tells them at each step; of
 * the step that is under way the page knows when it began. Never more than
 * have passed without the waiting for the person.
 * @param {Run} run @param {Details | undefined} details
 * @param {number} now  Unix ms
 */
export function atWork(run, details, now) {
    const { used, limit } = run.budget.seconds;
    const calls = (details?.calls ?? []).map((e) => e.value);
    const steps = [...calls.map((c) => c.ended_at ?? c.started_at ?? 0),
        ...(details?.requests ?? [])
            .map(({ value: q }) => q.ended_at ?? q.sent_at ?? 0)];
    if (run.state !== 'running' || steps.length === 0) {
        return used;
    }
    const waited = calls.filter((c) => c.name === 'ask_user')
        .reduce((sum, c) => sum + (c.ended_at ?? now) - (c.started_at ?? now), 0);
    const passed = now - (run.started_at ?? run.created_at) - waited;
    const sure = used * 1000 + now - Math.max(...steps);
    return Math.max(used,
        Math.min(limit, Math.floor(Math.min(sure, passed) / 1000)));
}

/**
 * What of the model's input came from its provider's cache of prompts, over the
 * requests that tell; null if none does.
 * @param {Details | undefined} details
 */
export function cacheUse(details) {
    const told = (details?.requests ?? []).map((e) => e.value.usage)
        .filter((u) => (u?.cached_tokens ?? null) !== null);
    const input = told.reduce((sum, u) => sum + (u.input_tokens ?? 0), 0);
    const cached = told.reduce((sum, u) => sum + (u.cached_tokens ?? 0), 0);
    return input > 0 ? { cached, input } : null;
}
