/**
 * pretty.js - the text of JSON with line breaks, and nothing else changed: what
 * is to be allowed is shown as it was sent, digit for digit. Pure.
 */

/** What nobody sees, or what would hide or turn round what stands beside it. The
 *  command line goes by the same rule (sql/base/utf8.c). */
const UNSEEN = /\p{C}|\p{Zl}|\p{Zp}|(?! )\p{Zs}|\p{Default_Ignorable_Code_Point}|[\u2800\ufffc\u{13441}\u{13442}\u{16fe4}\u{1d159}]/gu;

/** White space, a string, a mark, or anything else up to one of them. */
const PIECE = /\s+|"(?:[^"\\]|\\.)*"|[{}[\],:]|[^\s"{}[\],:]+/gs;

/** @param {string} text */
const visible = (text) => text.replace(UNSEEN, (c) =>
    Array.from({ length: c.length }, (_, i) =>
        `\\u${c.charCodeAt(i).toString(16).padStart(4, '0')}`).join(''));

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
