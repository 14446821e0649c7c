/**
 * pretty.js - the text of JSON with line breaks, and nothing else changed: what
 * is to be allowed is shown as it was sent, digit for digit. Pure.
 */

/** What would hide, or turn round, what stands beside it. */
const UNSEEN = /[\u0000-\u001f\u007f-\u009f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\uffff]/g;

/** White space, a string, a mark, or anything else up to one of them. */
const PIECE = /\s+|"(?:[^"\\]|\\.)*"|[{}[\],:]|[^\s"{}[\],:]+/gs;

/** @param {string} text */
const visible = (text) => text.replace(UNSEEN, (c) =>
    `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`);

/** @param {string} text */
function isJson(text) {
    try {
        JSON.parse(text);
        return true;
    } catch {
        return false;
    }
}

/** @param {string} text  JSON, or whatever a model sent in its place */
export function pretty(text) {
    if (!isJson(text)) {
        return text.split('\n').map(visible).join('\n');
    }
    let out = '';
    let depth = 0;
    /** @type {string} */
    let before = '';
    const line = () => `\n${'  '.repeat(depth)}`;
    for (const [piece] of text.matchAll(PIECE)) {
        if (piece.trim() === '') {
            continue;
        }
        const closes = piece === '}' || piece === ']';
        depth -= closes ? 1 : 0;
        if (closes ? before !== '{' && before !== '['
            : before === '{' || before === '[' || before === ',') {
            out += line();
        }
        out += piece === ':' ? ': ' : visible(piece);
        depth += piece === '{' || piece === '[' ? 1 : 0;
        before = piece;
    }
    return out;
}
