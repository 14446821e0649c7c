/** The interface's texts: each in every language, and nowhere else. */
import assert from 'node:assert/strict';
import { readFileSync, readdirSync } from 'node:fs';
import { test } from 'node:test';

const STATIC = new URL('../../static/', import.meta.url);
const read = (path) => readFileSync(new URL(path, STATIC), 'utf8');
const textsOf = (lang) => JSON.parse(read(`text/${lang}.json`));

const scripts = ['js/', 'js/views/'].flatMap((folder) =>
    readdirSync(new URL(folder, STATIC)).filter((f) => f.endsWith('.js'))
        .map((f) => [folder + f, read(folder + f)]));

/** Of a number, English has two forms where Chinese has one. */
const baseOf = (key, all) => {
    const base = key.replace(/\.(one|other)$/, '');
    return `${base}.one` in all ? base : key;
};
const base = (all) => [...new Set(Object.keys(all)
    .map((key) => baseOf(key, all)))].sort();
const gaps = (text) => [...new Set(text.match(/\{\w+\}/g))].sort();

test('both languages have the same texts, with the same gaps', () => {
    const [en, zh] = ['en', 'zh'].map(textsOf);
    assert.deepEqual(base(en), base(zh));
    for (const [key, text] of Object.entries(en)) {
        assert.ok(text.trim(), key);
        const other = zh[key] ?? zh[baseOf(key, en)];
        assert.ok(other?.trim(), key);
        if (baseOf(key, en) === key) {
            assert.deepEqual(gaps(other), gaps(text), key);
        }
    }
});

test('every text that the code names is there', () => {
    const keys = new Set(base(textsOf('en')));
    for (const [file, code] of scripts) {
        for (const [, key] of code.matchAll(/\bt\('([\w.]+)'/g)) {
            assert.ok(keys.has(key), `${file}: ${key}`);
        }
        // The beginning of a key whose end is known only when it runs.
        for (const [, start] of code.matchAll(/\bt\(`([\w.]+)\$\{/g)) {
            assert.ok([...keys].some((k) => k.startsWith(start)),
                `${file}: ${start}`);
        }
    }
});

/** What stands in templates outside of ${...}: the markup of the page. */
function markup(code) {
    let out = '';
    let within = '';
    for (let at = code.indexOf('html`'); at >= 0; at = code.indexOf('html`', at)) {
        at += 5;
        for (let depth = 0; at < code.length; at += 1) {
            if (depth === 0 && code[at] === '`') {
                break;
            }
            if (depth === 0 && code.startsWith('${', at)) {
                depth = 1;
                at += 1;
                out += '\u0000';
            } else if (depth > 0 && code.startsWith('html`', at)) {
                const inner = markup(code.slice(at));
                within += `${inner.text}\n`;
                at += inner.length - 1;
            } else if (depth > 0) {
                depth += code[at] === '{' ? 1 : code[at] === '}' ? -1 : 0;
            } else {
                out += code[at];
            }
        }
        return { text: `${out}\n${within}`, length: at + 1 };
    }
    return { text: '', length: code.length };
}

function allMarkup(code) {
    let text = '';
    for (let rest = code; rest.includes('html`');) {
        const next = markup(rest);
        text += `${next.text}\n`;
        rest = rest.slice(next.length);
    }
    return text;
}

/** Names, and those of keys, are the same in every language. */
const NAMES = /\b(Aside|Markdown|HTML|Ctrl\s+K)\b/g;

test('no words of the interface stand in the code', () => {
    let seen = 0;
    for (const [file, code] of scripts.filter(([f]) => f.includes('/views/'))) {
        const text = allMarkup(code);
        seen += (text.match(/</g) ?? []).length;
        for (const [, value] of text.matchAll(
            /(?:aria-label|title|placeholder|alt)="([^"]*)"/g)) {
            assert.match(value, /^(Ctrl\+K)?$/, `${file}: ${value}`);
        }
        const words = text.replace(/<[^<>]*>/g, ' ').replace(NAMES, '')
            .replace(/\u0000/g, ' ').match(/\p{L}{2,}[^\n]*/gu) ?? [];
        assert.deepEqual(words, [], file);
    }
    assert.ok(seen > 150, `${seen} tags were looked at`);
});
