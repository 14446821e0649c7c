/**
 * markdown.js - Markdown of models and documents as elements.
 *
 * The text is cut into tokens by marked and put together as elements of the
 * page, never as a string of HTML: what is not in the table below cannot come
 * about. HTML in the text stays text, no image is loaded, links leave the page
 * and have a scheme of a short list. `[3]` is a button that stands for source 3.
 * A text cannot make a link of it: a definition of that name is a paragraph.
 *
 * @import { Token } from 'marked'
 */
import { Marked } from 'marked';
import { h } from 'preact';

const SAFE_LINK = /^(?:https?:|mailto:)/i;

/** As sql/base/cite.h has it: that is what a report is checked for. */
const SPAN = '\\d{1,6}(?:[ \\t]*[-\u2010-\u2014][ \\t]*\\d{1,6})?';
const LIST = `\\^?(${SPAN}(?:[ \\t]*[,;\uff0c\u3001\uff1b][ \\t]*${SPAN})*)[ \\t]*`;
const CITE = new RegExp(`^(?:\\[${LIST}\\](?![(=])|\uff3b${LIST}\uff3d|\u3010${LIST}\u3011)`);
const CITE_BEGINS = /\[\^?\d|[\uff3b\u3010]/;

/** A range names all between its ends, which are not far from each other. */
const RANGE_MAX = 100;

/** What reads like a year cites nothing; no passage has such a number, but in
 *  databases from before that was so. @param {number} n */
const isYear = (n) => n >= 1500 && n <= 2100;

/** Years that passages of the text in hand have. @type {Set<number>} */
let years = new Set();

/** @param {number} n */
const isProse = (n) => isYear(n) && !years.has(n);

/** @param {number[]} span  a number, or both ends of a range */
const isCited = ([from, to]) => (to === undefined ? !isProse(from)
    : from > 0 && from < to && to - from <= RANGE_MAX
        && Array.from({ length: to - from + 1 }, (_, i) => from + i)
            .every((n) => !isProse(n)));

/** The numbers and ranges of a citation; null: it is none.
 *  @param {string} text */
function citedAt(text) {
    const match = CITE.exec(text);
    const list = match?.[1] ?? match?.[2] ?? match?.[3];
    const spans = list?.split(/[,;\uff0c\u3001\uff1b]/).map((part) =>
        part.split(/[-\u2010-\u2014]/).map(Number));
    return match && spans?.every(isCited) ? { raw: match[0], spans } : null;
}

/** The name of a link's definition. */
const DEFINED = /^ {0,3}\[((?:\\.|[^\[\]\\])+)\]:/s;

/** Marks in so long a paragraph are left as they are: the time to pair them
 *  grows with the square of it. */
const PARAGRAPH_MAX = 5000;

/** Text up to what may begin something else. Addresses of mail do not: to look
 *  for their ends takes a time that grows with the square of the text. */
const TEXT = new RegExp('^(?:`+|~+|[^`~])(?:(?=[`~])|(?= {2,}\\n)|[\\s\\S]*?'
    + '(?:(?=[\\\\<!\\[`*~_]|\\bhttps?://|\\bftp://|\\bwww\\.|$)'
    + '|[^ ](?= {2,}\\n)))', 'i');

/** Brackets are no part of it: what stands in them behind one is a citation. */
const URL_TEXT = /^(?:(?:https?|ftp):\/\/|www\.)[^\s<[\]]+/i;

/** Nobody writes a longer one; it is looked at again and again. */
const URL_MAX = 2000;

/** What stands behind an address and is no part of it. */
const AFTER_URL = /(?:[?!.,:;*_'"~]|&\w{1,8};)$/;

/** The address that a text begins with, or ''. @param {string} src */
function urlIn(src) {
    let url = URL_TEXT.exec(src.slice(0, URL_MAX))?.[0] ?? '';
    for (let end = ''; url !== end;) {
        end = url;
        url = url.replace(AFTER_URL, '');
        if (url.endsWith(')') && url.split(')').length > url.split('(').length) {
            url = url.slice(0, -1);
        }
    }
    return /^www\.\w|:\/\/\w/i.test(url) ? url : '';
}

const marked = new Marked({
    gfm: true,
    tokenizer: {
        url(src) {
            const url = urlIn(src);
            return url ? { type: 'link', raw: url, text: url,
                href: /^www/i.test(url) ? `http://${url}` : url,
                tokens: [{ type: 'text', raw: url, text: url }] } : undefined;
        },
        inlineText(src) {
            const raw = TEXT.exec(src)?.[0];
            return raw ? { type: 'text', raw, text: raw } : undefined;
        },
        def(src) {
            const name = DEFINED.exec(src)?.[1].trim().replace(/\s+/g, ' ');
            return name && CITE.test(`[${name}]`) ? undefined : false;
        },
        emStrong: (_, paragraph) => (paragraph.length > PARAGRAPH_MAX
            ? undefined : false),
    },
    extensions: [{
        name: 'cite',
        level: 'inline',
        start: (src) => {
            const at = src.search(CITE_BEGINS);
            return at < 0 ? undefined : at;
        },
        tokenizer(src) {
            const cited = citedAt(src);
            return cited ? { type: 'cite', ...cited } : undefined;
        },
    }],
});

/** @type {Record<string, string>} */
const ENTITIES = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'",
    nbsp: '\u00a0' };

/** Character references stand for characters. @param {string} text */
const plain = (text) => text.replace(/&(?:#(\d{1,7})|(\w{2,4}));/g,
    (whole, code, name) => (code ? String.fromCodePoint(
        Number(code) <= 0x10ffff ? Number(code) : 0xfffd)
        : ENTITIES[name] ?? whole));

/** @typedef {(token: any, label: string) => any} Draw */

/** @param {Token[] | undefined} tokens @param {string} label @returns {any[]} */
const drawAll = (tokens, label) => (tokens ?? []).map((token, i, all) => {
    const cited = all[i + 1]?.type === 'cite' && token.type === 'text';
    return draw(cited ? { ...token, text: token.text.trimEnd() } : token,
        label);
});

const RIGHT_TO_LEFT = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]/;

/** The direction of what holds texts with directions of their own, by the first
 *  letter: `auto` would not look into those. @param {string} text */
const directionOf = (text) => {
    const letter = /\p{L}/u.exec(text)?.[0] ?? '';
    return RIGHT_TO_LEFT.test(letter) ? 'rtl' : 'ltr';
};

/** An element around the tokens inside. @param {string} tag @returns {Draw} */
const around = (tag) => (token, label) =>
    h(tag, null, drawAll(token.tokens, label));

/** Joins a number to the word that it belongs to: no line ends between. */
const JOINER = '\u2060';

/** @param {number} n @param {string} label */
const drawNumber = (n, label) =>
    // Not a button element: lines may end on either side of those.
    [JOINER, h('span', { role: 'button', tabindex: 0, class: 'cite',
        'data-n': n, 'aria-label': `${label} ${n}` }, n), JOINER];

/** Of a range its ends. @type {Draw} */
const drawCite = (token, label) => token.spans.map(
    (/** @type {number[]} */ [from, to]) => (to === undefined
        ? drawNumber(from, label)
        : [drawNumber(from, label), '\u2013', drawNumber(to, label)]));

/** @type {Draw} */
function drawLink(token, label) {
    const inner = drawAll(token.tokens, label);
    return SAFE_LINK.test(token.href) ? h('a', { href: token.href,
        target: '_blank', rel: 'noopener noreferrer' }, inner) : inner;
}

/** @type {Draw} */
function drawList(token, label) {
    const items = token.items.map((/** @type {any} */ item) =>
        h('li', item.task ? { class: 'task' } : null, item.task && h('input',
            { type: 'checkbox', disabled: true, checked: !!item.checked }),
        drawAll(item.tokens, label)));
    const dir = directionOf(token.raw);
    return token.ordered ? h('ol', { start: token.start || 1, dir }, items)
        : h('ul', { dir }, items);
}

/** A cell of more than this keeps room for several words in a line. */
const LONG_CHARS = 24;

/** @type {Draw} */
function drawTable(token, label) {
    /** @param {string} tag @returns {(cell: any) => any} */
    const cell = (tag) => ({ tokens, text, align }) => h(tag, { dir: 'auto',
        class: [align && `align-${align}`, text.length > LONG_CHARS && 'long']
            .filter((name) => name).join(' ') || undefined },
    drawAll(tokens, label));
    return h('div', { class: 'table', tabindex: 0,
        dir: directionOf(token.raw) }, h('table', null,
        h('thead', null, h('tr', null, token.header.map(cell('th')))),
        h('tbody', null, token.rows.map((/** @type {any[]} */ row) =>
            h('tr', null, row.map(cell('td')))))));
}

/** @type {Draw} */
const drawText = (token, label) => (token.tokens
    ? drawAll(token.tokens, label) : plain(token.text));

/** @type {Record<string, Draw>} */
const DRAW = {
    blockquote: (token, label) => h('blockquote',
        { dir: directionOf(token.raw) }, drawAll(token.tokens, label)),
    br: () => h('br', null),
    cite: drawCite,
    code: (token) => h('pre', { dir: 'ltr', tabindex: 0 },
        h('code', null, token.text)),
    codespan: (token) => h('code', { dir: 'ltr' }, token.text),
    def: () => null,
    del: around('del'),
    em: around('em'),
    escape: drawText,
    heading: (token, label) => h(`h${Math.min(6, token.depth + 1)}`,
        { dir: 'auto' }, drawAll(token.tokens, label)),
    hr: () => h('hr', null),
    html: (token) => token.raw,
    image: (token) => h('span', { class: 'image' }, token.text || token.href),
    link: drawLink,
    list: drawList,
    paragraph: (token, label) => h('p', { dir: 'auto' },
        drawAll(token.tokens, label)),
    raw: (token) => h('p', { class: 'raw', dir: 'auto' }, token.raw),
    space: () => null,
    strong: around('strong'),
    table: drawTable,
    text: drawText,
};

/** @type {Draw} */
const draw = (token, label) =>
    (DRAW[token.type] ?? drawText)(token, label);

/** Deeper than anybody writes; far deeper the stack would not reach. */
const DEPTH_MAX = 100;

/** A line that opens so many lists and quotations at once. */
const TOO_DEEP = /^ *(?:> *|(?:[*+-]|\d{1,9}[.)])(?: +\[[ x]\])? +){50}/m;

/** @param {any[]} tokens @param {number} left @returns {boolean} */
const isDeep = (tokens, left) => left === 0 || tokens.some((token) =>
    isDeep(token.items ?? token.tokens ?? [], left - 1));

/** What marked makes of it; null if that is nothing, which some texts made
 *  for it can bring about. @param {string} text */
function lex(text) {
    try {
        return TOO_DEEP.test(text) ? null : marked.lexer(text);
    } catch {
        return null;
    }
}

/**
 * The top-level blocks of a text. `alone` tells whether equal text means an
 * equal block: not so where links are defined elsewhere in the text. A text
 * that cannot be drawn is one block, as it is written. `known` are the numbers
 * like a year that passages have.
 * @param {string} text @param {Set<number>} [known]
 */
export function blocks(text, known = new Set()) {
    years = known;
    const tokens = lex(text);
    if (!tokens || isDeep(tokens, DEPTH_MAX)) {
        return { alone: true, tokens: [{ type: 'raw', raw: text }] };
    }
    return {
        alone: Object.keys(tokens.links).length === 0,
        tokens: tokens.filter(({ type }) => type !== 'space' && type !== 'def'),
    };
}

/** One block. @param {Token} token @param {string} label  of a citation */
export const drawBlock = (token, label) => draw(token, label);
