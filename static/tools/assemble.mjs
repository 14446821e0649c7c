/**
 * assemble.mjs - static/ and the libraries it names, as plain files that any
 * web server can hand out: `node static/tools/assemble.mjs build/static`.
 *
 * There is no bundle and no import map (an inline script, which a strict
 * Content-Security-Policy forbids): the bare names in imports are rewritten to
 * relative paths, and each module is made small by itself. All but index.html
 * goes into a folder named by what is in it, v-<12 hexadecimal digits>, which a
 * browser may keep for good. The first load is measured, and too large a page
 * is an error.
 */
import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync,
} from 'node:fs';
import { dirname, join, posix, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';

import { minify } from 'terser';

const LIMIT_BYTES = 60_000;

/** Not needed for the first picture: loaded when the page is idle. */
const LATER = new RegExp('^(?:js/views/(?:panel|research|activity|timeline|find)'
    + '|js/(?:markdown|notify|timeline)|vendor/marked)\\.js$');

/** Not part of the first load. @param {string} name */
const isLater = (name) => /LICENSES|text\/(?!en)/.test(name)
    || LATER.test(name);

/** All style sheets, joined in the order of their names. */
const SHEET = 'css/aside.css';

/** Files of the library packages that the page uses, by import name. */
const LIBRARIES = {
    '@preact/signals': '@preact/signals/dist/signals.mjs',
    '@preact/signals-core': '@preact/signals-core/dist/signals-core.mjs',
    htm: 'htm/dist/htm.mjs',
    marked: 'marked/lib/marked.esm.js',
    preact: 'preact/dist/preact.mjs',
    'preact/hooks': 'preact/hooks/dist/hooks.mjs',
};

/** Folder of the sources; of the libraries; of the result. */
const here = join(dirname(fileURLToPath(import.meta.url)), '..');
const modules = join(here, '..', 'node_modules');
const out = process.argv[2];
if (!out) {
    console.error('usage: assemble.mjs <folder>');
    process.exit(2);
}

/** @param {string} name */
const vendorName = (name) => `vendor/${name.replace(/[@]/g, '')
    .replace(/\//g, '-')}.js`;

/** Bare names to paths, seen from the folder of `file`.
 *  @param {string} code @param {string} file */
function resolve(code, file) {
    return code.replace(/(\bfrom\s*|\bimport\s*)(["'])([^"'.][^"']*)\2/g,
        (whole, word, quote, name) => {
            if (!(name in LIBRARIES)) {
                throw new Error(`${file}: unknown import ${name}`);
            }
            const path = posix.relative(posix.dirname(file), vendorName(name));
            return `${word}${quote}${path[0] === '.' ? path
                : `./${path}`}${quote}`;
        });
}

/** @param {string} code @param {string} file */
async function small(code, file) {
    const result = await minify(code, { module: true, ecma: 2020,
        compress: { passes: 3 } });
    if (!result.code) {
        throw new Error(`${file}: nothing left`);
    }
    return result.code.replace(/\n +/g, '\n ');
}

/** Comments of a style sheet. @param {string} code */
const withoutComments = (code) => code.replace(/\/\*[\s\S]*?\*\//g, '')
    .replace(/\n\s+/g, '\n');

/** @param {string} folder @returns {string[]} */
function filesIn(folder) {
    return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
        const path = join(folder, entry.name);
        return entry.isDirectory() ? filesIn(path) : [path];
    });
}

/** @type {Map<string, string>} */
const files = new Map();

for (const folder of ['js', 'css', 'text']) {
    for (const path of filesIn(join(here, folder)).sort()) {
        const name = relative(here, path);
        const text = readFileSync(path, 'utf8');
        if (name.endsWith('.js')) {
            files.set(name, await small(resolve(text, name), name));
        } else if (name.endsWith('.css')) {
            files.set(SHEET, (files.get(SHEET) ?? '')
                + withoutComments(text).trimStart());
        } else if (name.endsWith('.json')) {
            files.set(name, `${JSON.stringify(JSON.parse(text))}\n`);
        }
    }
}

/** @type {string[]} */
const licences = [];
for (const [name, path] of Object.entries(LIBRARIES)) {
    const file = vendorName(name);
    const text = readFileSync(join(modules, path), 'utf8')
        .replace(/^\/\/# sourceMappingURL=.*$/gm, '');
    files.set(file, resolve(text, file));
    const packageName = path.startsWith('@')
        ? path.split('/', 2).join('/') : path.split('/', 1)[0];
    const folder = join(modules, packageName);
    const licence = readdirSync(folder).find((f) => /^licen[cs]e/i.test(f));
    if (licence && packageName === name) {
        licences.push(`${name}\n\n${readFileSync(join(folder, licence),
            'utf8').trim()}\n`);
    }
}
files.set('icon.svg', readFileSync(join(here, 'icon.svg'), 'utf8'));
files.set('vendor/LICENSES.txt', licences.join('\n\n'));

const scripts = [...files.keys()].filter((name) => name.endsWith('.js')
    && !LATER.test(name));
const index = readFileSync(join(here, 'index.html'), 'utf8')
    .replace('<!-- modulepreload -->', scripts.map((name) =>
        `<link rel="modulepreload" href="${name}">`).join('\n'));
const version = `v-${createHash('sha256').update(JSON.stringify([...files]))
    .digest('hex').slice(0, 12)}`;
const page = new Map([...files].map(([name, text]) =>
    [`${version}/${name}`, text]));
page.set('index.html', index.replace(/ (href|src)="(?=\w)/g, ` $1="${version}/`));

rmSync(out, { recursive: true, force: true });
let bytes = 0;
for (const [name, text] of page) {
    // Packed beforehand (gzip_static): a web server packs less tightly.
    const packed = gzipSync(text, { level: 9 });
    mkdirSync(dirname(join(out, name)), { recursive: true });
    writeFileSync(join(out, name), text);
    writeFileSync(join(out, `${name}.gz`), packed);
    bytes += isLater(name.replace(`${version}/`, '')) ? 0
        : packed.length;
}

console.log(`${out}: ${page.size} files, first load ${
    (bytes / 1000).toFixed(1)} KB compressed`);
if (bytes > LIMIT_BYTES) {
    console.error(`the first load may be ${LIMIT_BYTES / 1000} KB`);
    process.exit(1);
}
