/**
 * words.js - states of the design in words for people.
 *
 * @import { Handoff, Run } from './types.js'
 */
import { ApiError } from './api.js';
import { has, t } from './i18n.js';
import { isActive } from './rules.js';

/** Why a request failed, and what can be done about it. @param {unknown} error */
export function why(error) {
    if (!(error instanceof ApiError)) {
        return t('error.other');
    }
    if (has(`problem.${error.code}`)) {
        return t(`problem.${error.code}`);
    }
    if (error.detail) {
        return error.detail;
    }
    return has(`error.${error.status}`) ? t(`error.${error.status}`)
        : t('error.status', { status: error.status });
}

/** State and, while it runs, phase. @param {Run} run */
export function stateWords(run) {
    if (run.approval && isActive(run.state)) {
        return t('state.awaiting_approval');
    }
    return run.state === 'running' ? t(`phase.${run.phase}`)
        : t(`state.${run.state}`);
}

/** How a Run is, and why if that is worth a word. @param {Run} run */
export function verdict(run) {
    const why = reasonWords(run);
    return run.state === 'stopped' ? [why, ''] : [stateWords(run), why];
}

/** What became of an ended Run; '' for one that is complete. @param {Run} run */
export function reasonWords(run) {
    if (isActive(run.state) || run.state === 'completed') {
        return '';
    }
    return run.reason && has(`reason.${run.reason}`)
        ? t(`reason.${run.reason}`) : (run.reason ?? t(`state.${run.state}`));
}

/** What the text of a research is. @param {Run} run */
export function reportWords(run) {
    if (!run.answer.draft) {
        return t('report');
    }
    return t(isActive(run.state) ? 'report.draft' : 'report.last_draft');
}

/** @param {Handoff} handoff */
export function receiptWords(handoff) {
    if (handoff.state === 'not_applied') {
        return t('receipt.not_applied', {
            reason: t(`receipt.reason.${handoff.reason ?? 'run_ended'}`) });
    }
    return t(`receipt.${handoff.state}`);
}

/** What was decided of a call that the person was asked about.
 *  @param {import('./types.js').ToolCall} call */
export function decisionWords({ approval }) {
    const state = approval?.unanswered ? 'unanswered' : approval?.state;
    return t(`approval.was.${state}`);
}

/** What a look-up does; of one from elsewhere, its name as words.
 *  @param {string} name */
export function toolWords(name) {
    return has(`tool.${name}`) ? t(`tool.${name}`)
        : name.replaceAll('__', ': ').replaceAll('_', ' ');
}

/** Look-ups whose first argument says nothing more. */
const PLAIN = /^deliver_report$|_research$/;

/** An object of the first member of one that is cut short, if it is a text.
 *  @param {string} cut */
const firstOf = (cut) => cut.replace(/^(\s*\{\s*"(?:[^"\\]|\\.)*"\s*:\s*"(?:[^"\\]|\\["\\/bfnrt]|\\u[\da-fA-F]{4})*)[^]*$/, '$1"}');

/** The argument that says most: what was searched for, or read; or ''.
 *  @param {import('./types.js').ToolCall} call */
export function subjectOf(call) {
    if (PLAIN.test(call.name)) {
        return '';
    }
    let all = call.arguments;
    if (typeof all === 'string') {
        try {
            all = JSON.parse(call.arguments_cut ? firstOf(all) : all);
        } catch {
            return '';
        }
    }
    const texts = Object.values(all ?? {})
        .filter((v) => typeof v === 'string' || typeof v === 'number');
    return texts.length > 0 ? String(texts[0]) : '';
}

/** Where in its page a passage stands, without the page's own title.
 *  @param {import('./types.js').Source} source */
export function headingOf({ title, heading }) {
    const rest = heading.startsWith(title) ? heading.slice(title.length)
        : heading;
    return rest.replace(/^ > /, '').replaceAll(' > ', ' › ');
}

/** @param {Run} run */
export const titleOf = (run) => run.title || t('research.untitled');
