// promises.test.mjs - docs/promises.md names tests that there are.

import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';

test('docs/promises.md: each promise names a test that there is', async () => {
  const root = new URL('../../', import.meta.url);
  const lines = (await readFile(new URL('docs/promises.md', root), 'utf8')).split('\n')
    .filter((line) => line.startsWith('| ')).slice(2);
  assert.ok(lines.length > 5, `${lines.length} lines`);
  for (const line of lines) {
    const [, file, name] = /^\| .*\| `([\w./-]+)`: (.+) \|$/.exec(line) ?? [];
    assert.ok(file, `no test stands in: ${line}`);
    const at = file.includes('/') ? file : `${file.endsWith('.c') ? 'tests' : 'tests/scenarios'}/${file}`;
    const text = (await readFile(new URL(at, root), 'utf8')).replaceAll("\\'", "'");
    assert.ok(text.includes(name), `${file} has no test "${name}"`);
  }
});
