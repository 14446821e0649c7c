// accountability.test.mjs - a report answers for itself: what each requirement
// rests on, or why it is missing; and a citation opens whatever has become of
// what it came from (R31).

import assert from 'node:assert/strict';
import { rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';

import { asked } from '../support/scripted-model.mjs';
import { assertSettled, shelf, started } from '../support/started.mjs';
import { BOUND } from '../support/patience.mjs';

const search = (query) => ['library_search', { query }];
const lines = (run) => run.coverage.map((c) => [c.status, c.note, c.evidence]);
const deliver = (report, coverage) => ['deliver_report', { report, coverage }];
const told = (req) => req.body.messages.filter((m) => m.role === 'tool').map((m) => m.content).at(-1);

test('a report and what it answers for', BOUND, async (t) => {
  const dir = await shelf(t);
  const all = await started(t, {}, { library: dir });
  const { model, aside, research, say, run, whole, sql } = all;
  const file = async (r) => (await aside.api('GET', `/runs/${r.id}/report?format=md`)).text;

  await t.test('R31 each requirement has its evidence, or the reason why not; the file quotes what was asked', async () => {
    model.next('research', (req, reply) => reply.call(search('tides moon'), search('salt rivers')));
    model.next('research', async (req, reply) => {
      reply.text('x');
      await reply.hold('adjust');
    });
    const r = await research('Why *tides*?');
    await model.held('adjust');
    model.next('research', (req, reply) => reply.call(deliver('# Tides\n\nThe moon [1].', [
      { id: asked(req)[0], status: 'covered', note: 'by the moon', sources: [1] },
      { id: asked(req)[1], status: 'partial', note: '', sources: [2] }])));
    await say(r.id, 'and the salt');
    const end = await whole(r.id);
    assert.deepEqual([end.run.state, end.run.reason], ['incomplete', 'partial_coverage']);
    assert.deepEqual(lines(end.run), [['covered', 'by the moon', [1]], ['partial', '', [2]]]);
    const md = await file(r);
    assert.match(md, /The moon \[1\]\.\n\n## What I could not find\n\n/);
    assert.match(md, /- The adjustment \(and the salt\): covered in part\. No reason was given\. It rests on \\\[2\\\]\n\n## Sources/);
    assert.match(md, /## Coverage\n\n- The request \(Why \\\*tides\\\*\?\): covered\. by the moon\. It rests on \\\[1\\\]\n/);
    await assertSettled(sql);
  });

  await t.test('R31 evidence that was never retrieved is held back as a citation is, and not kept', async () => {
    const report = (req) => deliver('# Tides', [{ id: asked(req)[0], status: 'covered', note: '', sources: [1, 88, 'x', -1] }]);
    model.next('research', (req, reply) => reply.call(search('tides moon')));
    model.next('research', (req, reply) => reply.call(report(req)));
    model.next('research', (req, reply) => {
      assert.match(told(req), /not delivered: \[88\]: no passage with that number/);
      reply.call(report(req));
    });
    const r = await research('the tides');
    const end = await whole(r.id);
    assert.deepEqual(lines(end.run), [['partial', 'The report cites [88], which was never retrieved.', [1]]]);
    await assertSettled(sql);
  });

  await t.test('R31 a requirement that stands alone rests on what the report cites', async () => {
    model.next('research', (req, reply) => reply.call(search('tides moon'), search('salt rivers')));
    model.next('research', (req, reply) => reply.call(deliver('Salt [2], moon [1], salt [2].',
      [{ id: asked(req)[0], status: 'covered' }])));
    const r = await research('the sea');
    const end = await whole(r.id);
    assert.deepEqual(lines(end.run), [['covered', '', [1, 2]]]);
    assert.doesNotMatch(await file(r), /could not find/);
    await assertSettled(sql);
  });

  await t.test('R31 numbers, lists and texts as models write them; a blank report is none', async () => {
    for (const [sources, evidence] of [[['1', '[2]', 'x', 1.5], [1, 2]], [2, [2]], ['[1]', [1]], [{ n: 1 }, []]]) {
      model.next('research', (req, reply) => reply.call(search('tides moon'), search('salt rivers')));
      model.next('research', (req, reply) => reply.call(deliver(' \n\u3000\u200b\t', [])));
      model.next('research', (req, reply) => {
        assert.match(told(req), /report: expected a text/);
        const line = { id: asked(req)[0], status: 'covered', note: '', sources };
        reply.call(deliver('By the moon.', evidence.length === 1 ? line : JSON.stringify([line])));
      });
      const r = await research('the sea');
      const end = await whole(r.id);
      assert.deepEqual([end.run.state, lines(end.run)], ['completed', [['covered', '', evidence]]]);
    }
    await assertSettled(sql);
  });

  await t.test('R31 in Chinese, what could not be found is told in Chinese', async () => {
    model.next('research', (req, reply) => reply.call(deliver('# 潮汐\n\n没有找到资料。',
      [{ id: asked(req)[0], status: 'not_covered', note: '图书馆里没有' }])));
    const r = await research('潮汐是怎样形成的？');
    await whole(r.id);
    assert.match(await file(r), /## 未能找到的内容\n\n- 最初的请求 \(潮汐是怎样形成的？\): 未覆盖。图书馆里没有\n/);
  });

  await t.test('a citation opens with its text when the page, the library and the runtime are gone', async () => {
    model.next('research', (req, reply) => reply.call(search('tides moon')));
    model.next('research', (req, reply) => reply.report('The moon [1].'));
    const r = await research('the sea');
    const before = (await whole(r.id)).sources;
    assert.match(before[0].text, /The moon pulls the water of the sea/);
    await rm(path.join(dir, 'tides.md'));
    await writeFile(path.join(dir, 'salt.txt'), 'Something else entirely.\n');
    await aside.kill('asided');
    await aside.restart('asided');
    // Another research finds nothing any more; the first one still opens.
    model.next('research', (req, reply) => reply.call(search('tides moon')));
    model.next('research', (req, reply) => {
      assert.deepEqual(JSON.parse(told(req)).passages, []);
      reply.report('Nothing.', []);
    });
    await whole((await research('once more')).id);
    assert.deepEqual((await run(r.id)).sources, before);
    // And so it does for what goes on from it, which may read it again.
    model.next('research', (req, reply) => reply.call(['recall', { source: 1 }]));
    model.next('research', (req, reply) => {
      assert.match(told(req), /^\[1\] Tides.*\nThe moon pulls the water of the sea/s);
      reply.report('Still the moon [1].');
    });
    const next = (await aside.api('POST', `/runs/${r.id}/continue`, { body: 'go on' })).json.run;
    const end = await whole(next.id);
    assert.equal(end.run.state, 'completed');
    assert.equal(end.sources[0].text, before[0].text);
    await assertSettled(sql);
  });
});

test('R26 R31 a report that was never written says of each requirement why', BOUND, async (t) => {
  const { model, research, whole, sql } = await started(t, { 'budget.normal.requests': 2 });
  model.next('research', (req, reply) => reply.call(['note', { text: 'the moon' }]));
  model.next('closeout', (req, reply) => reply.status(500));
  const end = await whole((await research('the sea')).id);
  assert.deepEqual(lines(end.run), [['not_covered', 'The research ended before its report was written.', []]]);
  await assertSettled(sql);
});

test('R31 what a stranger wrote cites nothing and loads nothing in a report put together', BOUND, async (t) => {
  const library = await shelf(t);
  await writeFile(path.join(library, 'ebb.txt'),
    'Ebb [9]\n\nSlack <b>water</b>, as said[7].\n![x](https://a.example/x.png)\n\n# No heading\n');
  const { model, research, whole, sql } = await started(t, { 'budget.normal.requests': 2 }, { library });
  model.next('research', (req, reply) => reply.call(['library_search', { query: 'slack water' }]));
  model.next('closeout', (req, reply) => reply.status(500));
  const end = await whole((await research('the sea')).id);
  const found = end.run.answer.body.split('## What was found\n\n')[1];
  assert.match(found, /as said\\\[7\\\]\..*!\\\[x\\\]\(.*" \[1\]\n/);
  assert.match(found, /Slack \\<b\\>water/);
  // One line for each source, which cites that source alone.
  const list = found.trim().split('\n');
  assert.equal(list.length, end.sources.length);
  assert.deepEqual(list.map((line) => line.match(/(?<!\\)\[\d+\]/g)), end.sources.map(({ n }) => [`[${n}]`]));
  await assertSettled(sql);
});
