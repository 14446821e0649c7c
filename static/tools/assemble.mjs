/**
 * assemble.mjs - static/ and the libraries it names, as plain files that any
 * web server can hand out: `node static/tools/assemble.mjs build/static`.
 *
 * The modules are joined into few files, since a browser is slower with forty
 * small ones: what comes first, what comes with it, and what comes later
 * (`import()`). Beside each stands its source map, which only the tools of a
 * developer ask for. All but index.html goes into a folder named by what is in
 * it, v-<12 hexadecimal digits>, which a browser may keep for good. The first
 * load is measured, and too large a page is an error.
 */
import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync,
} from 'node:fs';
import { dirname, join, posix, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';

import { rollup } from '@rollup/wasm-node';
import { minify } from 'terser';

const LIMIT_BYTES = 60_000;

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

/** What the page loads first; the code that both need is a file of its own. */
const ENTRIES = ['early', 'main'];

/** Libraries by their import names: nothing else is looked for elsewhere. */
const libraries = {
    name: 'libraries',
    /** @param {string} name @param {string | undefined} from */
    resolveId: (name, from) => {
        if (/^[./]/.test(name)) {
            return null;
        }
        if (!(name in LIBRARIES)) {
            throw new Error(`${from}: unknown import ${name}`);
        }
        return join(modules, LIBRARIES[name]);
    },
};

/** @param {import('@rollup/wasm-node').OutputChunk} chunk */
async function small({ code, fileName, map }) {
    const result = await minify(code, { module: true, ecma: 2020,
        compress: { passes: 3 }, sourceMap: { content: map, includeSources: true,
            url: `${posix.basename(fileName)}.map` } });
    if (!result.code) {
        throw new Error(`${fileName}: nothing left`);
    }
    return { code: result.code.replace(/\n +/g, '\n '), map: result.map };
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

for (const folder of ['css', 'text']) {
    for (const path of filesIn(join(here, folder)).sort()) {
        const text = readFileSync(path, 'utf8');
        if (path.endsWith('.css')) {
            files.set(SHEET, (files.get(SHEET) ?? '')
                + withoutComments(text).trimStart());
        } else {
            files.set(relative(here, path),
                `${JSON.stringify(JSON.parse(text))}\n`);
        }
    }
}

const bundle = await rollup({ plugins: [libraries],
    input: ENTRIES.map((name) => join(here, 'js', `${name}.js`)) });
const { output } = await bundle.generate({ format: 'es', sourcemap: true,
    entryFileNames: 'js/[name].js', chunkFileNames: 'js/with-[name].js',
    sourcemapPathTransform: (path, map) => relative(join(here, '..'),
        join(dirname(map), path)) });
const chunks = new Map(output.filter((part) => part.type === 'chunk')
    .map((chunk) => [chunk.fileName, chunk]));
for (const [name, chunk] of chunks) {
    const { code, map } = await small(chunk);
    files.set(name, code);
    files.set(`${name}.map`, String(map));
}

/** What a file and all that it imports consists of.
 *  @param {string} name @returns {string[]} */
const withImports = (name) => [name,
    ...chunks.get(name)?.imports.flatMap(withImports) ?? []];
const scripts = [...new Set(ENTRIES.flatMap((name) =>
    withImports(`js/${name}.js`)))];

/** What the first picture needs. */
const first = new Set([SHEET, 'icon.svg', 'text/en.json', ...scripts]);

/** @type {string[]} */
const licences = [];
for (const [name, path] of Object.entries(LIBRARIES)) {
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
files.set('LICENSES.txt', licences.join('\n\n'));

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
    bytes += name === 'index.html' || first.has(name.replace(`${version}/`, ''))
        ? packed.length : 0;
}

console.log(`${out}: ${page.size} files, first load ${
    (bytes / 1000).toFixed(1)} KB compressed`);
if (bytes > LIMIT_BYTES) {
    console.error(`the first load may be ${LIMIT_BYTES / 1000} KB`);
    process.exit(1);
}
