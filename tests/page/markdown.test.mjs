/** Markdown that was written to break the page. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';

import { blocks, drawBlock } from '../../static/js/markdown.js';

/** All text in what is drawn. @param {any} node @returns {string} */
const textOf = (node) => (Array.isArray(node) ? node.map(textOf).join('')
    : typeof node === 'string' || typeof node === 'number' ? String(node)
        : node?.props ? textOf(node.props.children) : '');

/** @param {any} node @returns {any[]} */
const elementsOf = (node) => (Array.isArray(node) ? node.flatMap(elementsOf)
    : node?.props ? [node, ...elementsOf(node.props.children)] : []);

/** @param {string} text */
const draw = (text) => blocks(text).tokens.map((token) =>
    drawBlock(token, 'Source'));

/** How many elements stand inside each other. @param {any} node
 *  @returns {number} */
const depthOf = (node) => (Array.isArray(node)
    ? Math.max(0, ...node.map(depthOf))
    : node?.props ? 1 + depthOf(node.props.children) : 0);

test('what is nested beyond all reason is shown as it is written', () => {
    const many = 30_000;
    for (const text of ['>'.repeat(many), `${'> '.repeat(many)}a`,
        `${'- '.repeat(many)}a`, `${'1. '.repeat(many)}a`,
        '- [ ] '.repeat(many), Array.from({ length: 300 }, (_, i) =>
            `${'  '.repeat(i)}- a`).join('\n')]) {
        const drawn = draw(text);
        assert.equal(textOf(drawn), text);
        assert.ok(depthOf(drawn) < 10, text.slice(0, 12));
    }
    // What people write is drawn.
    const list = draw('> > - a\n> >   - b\n> >     1. c');
    assert.deepEqual(elementsOf(list).map((e) => e.type).filter((type) =>
        /blockquote|[uo]l/.test(type)),
    ['blockquote', 'blockquote', 'ul', 'ul', 'ol']);
});

test('a paragraph of marks alone does not hold up the page', () => {
    const text = '_a*'.repeat(20_000);
    const before = process.cpuUsage();
    assert.equal(textOf(draw(text)), text);
    // It takes two seconds, and took more than half a minute.
    assert.ok(process.cpuUsage(before).user < 12e6);
    assert.equal(elementsOf(draw('so **be** _it_')).map((e) => e.type)
        .join(' '), 'p strong em');
});

test('nothing that a model writes acts, or is asked for', () => {
    const text = [
        '<script>alert(1)</script>', '<img src=x onerror=alert(1)>',
        '[a](javascript:alert(1)) [b](JaVaScRiPt:alert(1))',
        '[c](data:text/html,x) [d](vbscript:x) [e](//elsewhere.test)',
        '![f](https://elsewhere.test/f.png)', '<javascript:alert(1)>',
        '[g](&#106;avascript:alert(1)) [h](\tjavascript:alert(1))',
        '<iframe src="https://elsewhere.test"></iframe>',
        '&#0; &#55296; &#9999999; &constructor; [1](x) [9] [constructor]',
    ].join('\n\n');
    const all = elementsOf(draw(text));
    assert.deepEqual([...new Set(all.map((e) => e.type))].sort(), ['p', 'span']);
    assert.deepEqual(all.filter((e) => Object.keys(e.props).some((name) =>
        /^on|href|src|style|dangerously/.test(name))), []);
});

test('what looks like an address without end does not hold up the page', () => {
    for (const text of [`${'a.'.repeat(30_000)}@`, 'a@'.repeat(30_000),
        `mailto:${'a.'.repeat(30_000)}@`, 'http'.repeat(15_000),
        `https://a${'!'.repeat(60_000)}`, `https://a${')'.repeat(60_000)}`]) {
        const before = process.cpuUsage();
        assert.equal(textOf(draw(text)), text);
        const { user } = process.cpuUsage(before);
        // Each takes a few hundredths of a second; the first took six seconds.
        assert.ok(user < 2e6, `${text.slice(0, 12)}: ${user / 1000} ms`);
    }
});

test('addresses are links to where their text says, without what follows them',
    () => {
        /** @param {string} text */
        const linksIn = (text) => elementsOf(draw(text))
            .filter((e) => e.type === 'a')
            .map((e) => [e.props.href, textOf(e)]);
        assert.deepEqual(linksIn('See https://a.test/x_(y)?b=1&c=2. (www.b.test),'
            + ' *https://c.test/*, HTTPS://D.test/d&quot;; 见https://e.test/'),
        [['https://a.test/x_(y)?b=1&c=2', 'https://a.test/x_(y)?b=1&c=2'],
            ['http://www.b.test', 'www.b.test'],
            ['https://c.test/', 'https://c.test/'],
            ['HTTPS://D.test/d', 'HTTPS://D.test/d'],
            ['https://e.test/', 'https://e.test/']]);
        assert.deepEqual(linksIn('http https:// www. ftp://a.test a@b.test'), []);
        assert.deepEqual(linksIn('<a@b.test> [c](mailto:c@d.test)'), [
            ['mailto:a@b.test', 'a@b.test'], ['mailto:c@d.test', 'c']]);
    });

test('the page shows as a citation what the runtime checks as one', () => {
    /** @param {string} text */
    const cited = (text) => elementsOf(draw(text))
        .filter((e) => e.props.class === 'cite').map((e) => e.props['data-n']);
    // The rows that tests/check_citations.c reads too.
    const rows = JSON.parse(readFileSync(
        new URL('../support/citations.json', import.meta.url), 'utf8'));
    for (const { text, cites } of rows) {
        assert.deepEqual([...new Set(cited(text))].sort((a, b) => a - b), cites,
            text);
    }
    // Years are words, and what stands with one is no list of passages.
    const years = 'In [2024], [1500], [2100], [02024] and [3, 1999].';
    assert.deepEqual(cited(years), []);
    assert.equal(textOf(draw(years)), years);
    // But where passages have such numbers, which they once had.
    assert.deepEqual(elementsOf(blocks('[1600, 7] [1602]', new Set([1600]))
        .tokens.map((token) => drawBlock(token, 'source')))
        .filter((e) => e.props.class === 'cite').map((e) => e.props['data-n']),
    [1600, 7]);
    // Ranges show their ends; other marks between, other brackets.
    assert.deepEqual(cited('[1-3] [5 \u2013 6; 8 ] [^9]'), [1, 3, 5, 6, 8, 9]);
    assert.equal(textOf(draw('as [1-3].')).replace(/\u2060/g, ''), 'as1\u20133.');
    // Nor does what stands before or behind it take it in.
    assert.deepEqual(cited('[1][a], [2][1]\n\n[a]: https://a.test/'), [1, 2, 1]);
    // No definition makes a link of a citation.
    for (const text of ['see [1] and [2]\n\n[1]: https://a.test/',
        '[2]: so, and [1]', '> [ 2 ]: https://a.test/\n\n[2] [1]',
        '[1-2]: /a\n\n[^1]: /b\n\n[1-2] [^1]']) {
        assert.deepEqual([...new Set(cited(text))].sort(), [1, 2], text);
    }
    assert.deepEqual(elementsOf(draw('[a] [1]\n\n[a]: https://a.test/'))
        .filter((e) => e.type === 'a').map((e) => e.props.href),
    ['https://a.test/']);
});
