// results.test.mjs - how a research ends: its report, what the report covers,
// its files, and that it is told once (R31, R32).

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { asked } from '../support/scripted-model.mjs';
import { assertSettled, shelf, started } from '../support/started.mjs';
import { BOUND } from '../support/patience.mjs';

test('R31 coverage: left out, unknown, twice named, in any order', BOUND, async (t) => {
  const { model, research, say, whole, sql } = await started(t);
  const held = async (what) => {
    model.next('research', async (req, reply) => {
      reply.text('x');
      await reply.hold('first');
    });
    const r = await research('the sea');
    await model.held('first');
    model.next('research', (req, reply) => reply.report('# Done', what(...asked(req))));
    await say(r.id, 'and the salt');
    const end = await whole(r.id);
    assert.equal(end.run.answer.body, '# Done');
    return [end.run.state, end.run.reason, end.run.coverage.map((c) => `${c.source} ${c.status} ${c.note}`)];
  };
  const covered = (id, note = '') => ({ id, status: 'covered', note });
  const cases = [
    [(a, b) => [covered(a, 'yes'), covered(b, 'also')],
      ['completed', null, ['request covered yes', 'handoff covered also']]],
    [(a, b) => [covered(b), covered(a)], ['completed', null, ['request covered ', 'handoff covered ']]],
    [(a) => [covered(a)], ['incomplete', 'partial_coverage', ['request covered ', 'handoff not_covered ']]],
    [() => [], ['incomplete', 'partial_coverage', ['request not_covered ', 'handoff not_covered ']]],
    [(a, b) => [covered(a), covered(b), covered('msg_9999'), covered(''), covered('request')],
      ['completed', null, ['request covered ', 'handoff covered ']]],
    [(a, b) => [covered(a), { id: b, status: 'partial', note: 'no figures' }],
      ['incomplete', 'partial_coverage', ['request covered ', 'handoff partial no figures']]],
    // Twice named: the less favourable statement counts, whichever came first.
    [(a, b) => [covered(a), { id: a, status: 'not_covered', note: 'after all' }, covered(b)],
      ['incomplete', 'partial_coverage', ['request not_covered after all', 'handoff covered ']]],
    [(a, b) => [{ id: a, status: 'partial', note: 'half' }, covered(a), covered(b)],
      ['incomplete', 'partial_coverage', ['request partial half', 'handoff covered ']]],
    // A word that is no status states nothing.
    [(a, b) => [{ id: a, status: 'done' }, covered(b)],
      ['incomplete', 'partial_coverage', ['request not_covered ', 'handoff covered ']]],
  ];
  for (const [what, want] of cases) {
    assert.deepEqual(await held(what), want, what.toString());
  }
  await assertSettled(sql);
});

test('R31 the report as a file: Markdown and HTML that open by themselves', BOUND, async (t) => {
  const { model, aside, research, whole } = await started(t, {}, { library: await shelf(t) });
  model.next('research', (req, reply) => reply.call(['library_search', { query: 'tides moon' }]));
  model.next('research', async (req, reply) => {
    await reply.hold('writing');
    reply.report('# The tides\n\nThe moon *pulls* & pulls. [1] <script>alert(1)</script>\n\n| a | b |\n|---|---|\n| 1 | 2 |');
  });
  const r = await research('How do "tides" <work>?');
  const writing = await model.held('writing');
  const early = await aside.api('GET', `/runs/${r.id}/report?format=md`);
  assert.equal(early.status, 409, early.text);
  writing.release();
  const end = await whole(r.id);
  assert.equal(end.run.state, 'completed');
  const md = await aside.api('GET', `/runs/${r.id}/report?format=md`);
  assert.equal(md.status, 200);
  assert.match(md.headers['content-type'], /^text\/markdown/);
  assert.match(md.headers['content-disposition'], /attachment.*\.md/);
  assert.match(md.text, /The moon \*pulls\* & pulls\. \[1\]/);
  assert.match(md.text, /## Sources\n\n- \\\[1\\\] Tides/);
  assert.match(md.text, /## Coverage\n\n- The request \(How do/);
  const html = await aside.api('GET', `/runs/${r.id}/report?format=html`);
  assert.match(html.headers['content-type'], /^text\/html; ?charset=utf-8/i);
  assert.match(html.text, /^<!DOCTYPE html>/);
  assert.match(html.text, /<meta charset="utf-8">/);
  assert.match(html.text, /<em>pulls<\/em> &amp; pulls\. \[1\]/);
  assert.match(html.text, /<h2>Sources<\/h2>/);
  assert.ok(!/<script/i.test(html.text));
  assert.match(html.text, /<\/body>\n<\/html>\n$/);
  assert.equal((await aside.api('GET', `/runs/${r.id}/report?format=pdf`)).status, 422);
});

test('R32 every way to end tells it once, through restarts and to many watchers', BOUND, async (t) => {
  const { model, aside, research, stop, ended, sql } = await started(t,
    { 'background.limit': 4, 'budget.normal.requests': 3 });
  const watchers = [aside.feed(), aside.feed(), aside.feed()];
  const done = await research('completed');
  await ended(done.id);
  model.next('research', (req, reply) => reply.report('# R', []));
  const partial = await research('incomplete');
  await ended(partial.id);
  model.next('research', (req, reply) => reply.status(401));
  const failed = await research('failed');
  await ended(failed.id);
  model.next('research', async (req, reply) => {
    reply.text('x');
    await reply.hold('first');
  });
  const stopped = await research('stopped');
  await model.held('first');
  await stop(stopped.id);
  await stop(stopped.id);
  await aside.restart('asided');
  await aside.kill('asided');
  await aside.restart('asided');
  const all = [done, partial, failed, stopped].map((r) => r.id).sort();
  for (const feed of watchers) {
    await feed.until((s) => s.notifications.size === 4);
    const told = feed.state.changes.filter((c) => c.kind === 'notification.created');
    assert.deepEqual(told.map((c) => c.run_id).sort(), all);
    for (const c of told) {
      // The end stands in the feed before it is told.
      const end = feed.state.changes.find((x) => x.kind === 'run.updated' && x.run_id === c.run_id && x.run.ended_at);
      assert.ok(end.seq < c.seq);
    }
  }
  assert.equal(await sql('SELECT count(*) FROM notification'), '4');
  await assertSettled(sql);
});
