/** The page is installed over one that somebody may have open. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync,
    writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

const SCRIPT = fileURLToPath(new URL('../../static/tools/install.sh',
    import.meta.url));

test('the files of the version before stay, those of older ones go', (t) => {
    const place = mkdtempSync(join(tmpdir(), 'aside-install-'));
    t.after(() => rmSync(place, { recursive: true }));
    const to = join(place, 'served here');

    /** @param {string} digit  what is in its files */
    function install(digit) {
        const from = join(place, digit);
        const version = `v-${digit.repeat(12)}`;
        mkdirSync(join(from, version, 'js'), { recursive: true });
        writeFileSync(join(from, version, 'js/main.js'), digit);
        const page = `<link href="${version}/a.css">\n`
            + `<script type="module" src="${version}/js/early.js"></script>\n`
            + `<script type="module" src="${version}/js/main.js"></script>\n`;
        writeFileSync(join(from, 'index.html'), page);
        writeFileSync(join(from, 'index.html.gz'), page);
        execFileSync('sh', [SCRIPT, from, to]);
        assert.equal(readFileSync(join(to, 'index.html'), 'utf8'), page);
        assert.equal(readFileSync(join(to, version, 'js/main.js'), 'utf8'),
            digit);
        return readdirSync(to).filter((name) => /^v-|js/.test(name))
            .map((name) => name[2] ?? name);
    }
    mkdirSync(join(to, 'js'), { recursive: true });
    writeFileSync(join(to, 'index.html'), 'of before there were versions');
    assert.deepEqual(install('a'), ['a']);
    assert.deepEqual(install('b'), ['a', 'b']);
    assert.deepEqual(install('b'), ['a', 'b'], 'again the same');
    assert.deepEqual(install('c'), ['b', 'c']);
    assert.deepEqual(install('b'), ['b', 'c'], 'and back');
    assert.ok(!existsSync(join(to, 'index.html.new')));
});
