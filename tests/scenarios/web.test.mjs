// web.test.mjs - pages of the web as sources: what is read of them, what is not
// reached, what is kept, and what is said when it goes wrong.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readdir, readFile } from 'node:fs/promises';
import net from 'node:net';
import { test } from 'node:test';
import zlib from 'node:zlib';

import { eventually, lookForLeaks } from '../support/harness.mjs';
import { Everything, ready } from '../support/everything.mjs';
import { pdf } from '../support/pdf.mjs';
import { startSite } from '../support/site.mjs';
import { assertCallsAnswered, assertSettled, history, shelf, started } from '../support/started.mjs';
import { BOUND } from '../support/patience.mjs';

lookForLeaks();

const ON = { 'web.fetch': 'on', 'web.allow': '127.0.0.1' };

async function world(t, conf = {}, more = {}) {
  const w = await started(t, { ...ON, ...conf }, more);
  const told = () => w.model.requests.at(-1).body.messages
    .filter((m) => m.role === 'tool').map((m) => JSON.parse(m.content));
  /** A research that makes these calls in one reply, to its end. */
  const fetched = async (...calls) => {
    w.model.next('research', (req, reply) => reply.call(...calls));
    w.model.next('research', (req, reply) => reply.report('# Done'));
    const end = await w.whole((await w.research('the sea')).id);
    return { end, calls: end.tool_calls.slice(0, -1), told: told() };
  };
  return { ...w, told, fetched };
}

const fetch = (url, more = {}) => ['web_fetch', { url, ...more }];

const TIDES = `<!doctype html><html><head><title>Tides &amp; moons</title></head><body>
<nav><a href="/elsewhere">Menu</a></nav>
<h1>Tides</h1><p>The moon pulls the sea. See <a href="salt.html#top">about salt</a>,
<a href="https://example.org/x">the example</a> and <a href="mailto:a@b.c">a letter</a>.</p>
<h2>Heights</h2><table><tr><th>Port</th><th>Metres</th></tr>
<tr><td>Saint-Malo</td><td>12.2</td></tr><tr><td>Kiel</td><td>0.1</td></tr></table>
</body></html>`;

test('a page is read with headings, links and tables; its passages are sources', BOUND, async (t) => {
  const { fetched, aside, model } = await world(t);
  const site = await startSite(t, { '/sea/tides.html': TIDES });
  const { end, calls: [call], told: [page] } = await fetched(fetch(site.url('/sea/tides.html#heights')));
  assert.deepEqual([call.state, call.summary], ['done', '1 passage of “Tides & moons”']);
  assert.equal(page.title, 'Tides & moons');
  assert.equal(page.location, site.url('/sea/tides.html'));
  assert.equal(page.has_more, false);
  assert.match(page.passages[0].text, /The moon pulls the sea/);
  assert.doesNotMatch(JSON.stringify(page), /Menu/);
  assert.match(page.passages[0].heading, /Tides/);
  assert.match(page.passages[0].text, /Port \| Metres\nSaint-Malo \| 12\.2\nKiel \| 0\.1/);
  assert.deepEqual(page.links, [
    { text: 'about salt', url: site.url('/sea/salt.html') },
    { text: 'the example', url: 'https://example.org/x' }]);
  assert.deepEqual(end.sources.map((s) => [s.n, s.location, s.text]),
    page.passages.map((p) => [p.n, page.location, p.text]));
  const [asked] = site.asked;
  assert.match(asked.headers['user-agent'], /^Aside/);
  assert.equal(asked.headers.cookie ?? asked.headers.authorization, undefined);
  assertCallsAnswered(model);
  assert.ok(aside);
});

test('Markdown, text and what servers mislabel; encodings; what is no text is refused', BOUND, async (t) => {
  const { fetched } = await world(t, { 'budget.normal.tool_calls': 60 });
  const type = (kind, body) => ({ type: kind, body });
  const rows = [
    ['/a.md', type('text/markdown', '# Salt\n\nRivers [carry](x.html) salt to the sea.'), /Rivers carry salt/],
    ['/b.md', type('text/plain; charset=utf-8', '# Salt\n\nRivers [carry](x.html) salt to the sea.'), /Rivers carry salt/],
    ['/c', type('text/plain', 'Rivers carry *salt*.'), /Rivers carry \*salt\*/],
    ['/d', type('', '<html><body><p>Rivers carry <b>salt</b>.</p>'), /Rivers carry salt/],
    ['/e', type('application/json', '{"river":"Elbe"}'), /"river":"Elbe"/],
    ['/f', type('text/html; charset=iso-8859-2', Buffer.from('<p>\xb3\xf3d\xbc na morzu</p>', 'latin1')), /łódź na morzu/],
    ['/g', type('text/html', Buffer.from('<meta charset=koi8-r><p>\xcd\xcf\xd2\xc5</p>', 'latin1')), /море/],
    ['/h', type('text/html', '<p>\u6d77\u306e\u6f6e</p>'), /海の潮/],
    ['/i', { type: 'text/html', headers: { 'content-encoding': 'gzip' },
      body: zlib.gzipSync('<p>Rivers carry salt.</p>') }, /Rivers carry salt/],
  ];
  const bad = [
    ['/m', type('image/png', Buffer.from([0x89, 0x50, 0, 0, 0])), /only HTML, PDF, Markdown and text.*image\/png/],
    ['/n', type('text/plain', Buffer.alloc(300)), /only HTML/],
    ['/o', type('application/octet-stream', Buffer.alloc(300)), /only HTML/],
    ['/p', type('text/html', '<script>let x = 1</script>'), /no text/],
    ['/q', type('text/html', ''), /empty/],
    ['/r', { status: 404, type: 'text/html', body: '<p>no</p>' }, /answered 404/],
    ['/s', { status: 503, type: 'text/html', body: '<p>no</p>' }, /answered 503/],
    ['/t.pdf', type('application/pdf', 'no PDF at all'), /no PDF/],
  ];
  const site = await startSite(t, Object.fromEntries([...rows, ...bad].map(([p, page]) => [p, page])));
  const { calls, told } = await fetched(...[...rows, ...bad].map(([p]) => fetch(site.url(p))));
  rows.forEach(([p, , want], i) => {
    assert.equal(calls[i].state, 'done', `${p}: ${calls[i].error}`);
    assert.match(told[i].passages[0].text, want, p);
  });
  bad.forEach(([p, , want], k) => {
    const i = rows.length + k;
    assert.equal(calls[i].state, 'failed', p);
    assert.match(told[i].error, want, p);
    assert.equal(calls[i].summary, told[i].error, p);
  });
});

test('a PDF is read page by page', BOUND, async (t) => {
  const { fetched } = await world(t);
  const site = await startSite(t, {
    '/report.pdf': { type: 'application/pdf', body: pdf([
      ['Harbour report', 'The tide at Cuxhaven is 3.1 metres.'], ['Salt is 3.5 percent of the sea.']]) },
    '/cut.pdf': { type: 'application/pdf', body: pdf([['Harbour report'], ['More of it.']]).subarray(0, 200) },
  });
  const { calls: [whole, cut], told: [page] } =
    await fetched(fetch(site.url('/report.pdf')), fetch(site.url('/cut.pdf')));
  assert.equal(whole.state, 'done', whole.error);
  assert.deepEqual(page.passages.map((p) => p.heading), ['Page 1', 'Page 2']);
  assert.match(page.passages[0].text, /tide at Cuxhaven is 3\.1 metres/);
  assert.match(page.passages[1].text, /3\.5 percent/);
  assert.equal(page.location, site.url('/report.pdf'));
  assert.equal(cut.state, 'failed');
});

test('a long page is read on from where it was left, without being fetched again', BOUND, async (t) => {
  const { model, research, whole, told } = await world(t);
  const chapters = Array.from({ length: 30 }, (_, i) =>
    `<h2>Chapter ${i}</h2><p>${`The sea of chapter ${i} is deep and salty. `.repeat(20)}</p>`);
  const site = await startSite(t, { '/book': `<title>Book</title>${chapters.join('')}` });
  const url = site.url('/book');
  const pages = [];
  let from = 0;
  model.on('research', (req, reply) => {
    if (history(req).at(-1).role === 'tool') {
      pages.push(told().at(-1));
      from = pages.at(-1).next_from;
    }
    return from === undefined ? reply.report('# Done') : reply.call(fetch(url, { from }));
  });
  const end = await whole((await research('the book')).id);
  assert.equal(end.run.state, 'completed');
  assert.equal(site.asked.length, 1);
  assert.ok(pages.length > 2 && !pages.at(-1).has_more);
  const headings = pages.flatMap((p) => p.passages.map((x) => x.heading));
  assert.deepEqual([...new Set(headings.map((h) => /Chapter \d+/.exec(h)[0]))],
    Array.from({ length: 30 }, (_, i) => `Chapter ${i}`));
  assert.equal(new Set(end.sources.map((s) => s.n)).size, end.sources.length);

  model.next('research', (req, reply) => reply.call(fetch(url, { from: 9999 })));
  model.next('research', (req, reply) => reply.report('# Done'));
  const late = await whole((await research('its end')).id);
  assert.match(late.tool_calls[0].error, /ends before that/);

  // Of a page without end the beginning is read, and that is said where it stops.
  site.on('/many', Array.from({ length: 45000 }, (_, i) =>
    `<h2>Bay ${i}</h2><p><a href="/bay/${i}">Bay ${i}</a> is salty.</p>`).join(''));
  for (const [from, note] of [[0, undefined], [3990, 'The page is longer than what is read of it: this is not its end.']]) {
    model.next('research', (req, reply) => reply.call(fetch(site.url('/many'), { from })));
    model.next('research', (req, reply) => {
      const { passages, has_more: more, note: said } = told().at(-1);
      assert.deepEqual([passages.length > 0, more, said], [true, !note, note]);
      reply.report('# Done');
    });
    await whole((await research('the bays')).id);
  }
});

test('what was read before is asked about, not fetched anew', BOUND, async (t) => {
  const { fetched } = await world(t);
  const site = await startSite(t);
  let body = '<p>The moon pulls the sea.</p>';
  const versioned = (req, res) => {
    const tag = `"${body.length}"`;
    if (req.headers['if-none-match'] === tag) {
      res.writeHead(304, { etag: tag }).end();
    } else {
      res.writeHead(200, { 'content-type': 'text/html', etag: tag }).end(body);
    }
  };
  site.on('/tagged', versioned);
  site.on('/dated', (req, res) => {
    const at = 'Mon, 02 Mar 2026 10:00:00 GMT';
    res.writeHead(req.headers['if-modified-since'] === at ? 304 : 200,
      { 'content-type': 'text/html', 'last-modified': at }).end(req.headers['if-modified-since'] ? '' : body);
  });
  site.on('/moved', { status: 302, headers: { location: '/tagged' } });
  const urls = ['/tagged', '/dated', '/moved'].map((p) => fetch(site.url(p)));
  const first = await fetched(...urls);
  const second = await fetched(...urls);
  assert.deepEqual(second.calls.map((c) => c.state), ['done', 'done', 'done']);
  const words = (r) => r.told.map((p) => [p.location, p.passages.map((x) => x.text)]);
  assert.deepEqual(words(second), words(first));
  assert.equal(second.end.sources.length, first.end.sources.length);
  const asked = site.asked.slice(-4);
  assert.ok(asked.some((a) => a.path === '/tagged' && a.headers['if-none-match']));
  assert.ok(asked.some((a) => a.path === '/dated' && a.headers['if-modified-since']));
  body = '<p>The moon pulls the sea, and the sun does.</p>';
  const third = await fetched(fetch(site.url('/tagged')));
  assert.match(third.told[0].passages[0].text, /and the sun does/);
});

test('redirects are followed one by one, a few of them', BOUND, async (t) => {
  const { fetched } = await world(t);
  const site = await startSite(t, { '/end': '<p>The sea at last.</p>' });
  const to = (location, status = 302) => ({ status, headers: { location } });
  for (let i = 0; i < 7; i++) {
    site.on(`/hop/${i}`, to(i === 6 ? '/end' : `${i + 1}`, [301, 302, 303, 307, 308][i % 5]));
  }
  site.on('/round', to('/round')).on('/nowhere', { status: 302 })
    .on('/file', to('file:///etc/passwd')).on('/ftp', to('ftp://127.0.0.1/x'))
    .on('/named', to('http://user:secret@127.0.0.1/x'));
  const paths = ['/hop/2', '/hop/0', '/round', '/nowhere', '/file', '/ftp', '/named'];
  const { calls, told } = await fetched(...paths.map((p) => fetch(site.url(p))));
  assert.equal(calls[0].state, 'done', calls[0].error);
  assert.equal(told[0].location, site.url('/end'));
  assert.deepEqual(calls.slice(1).map((c) => c.state), Array(6).fill('failed'));
  const errors = [/too often/, /too often/, /to nowhere/, /only http and https/, /only http and https/,
    /name or password/];
  errors.forEach((want, i) => assert.match(told[i + 1].error, want));
  assert.equal(site.count('/round'), 6);
});

test('nothing but the public internet is reached, whatever it is called', BOUND, async (t) => {
  const secret = (address) => startSite(t, { '/': '<p>secret</p>' }, address);
  const own = await secret('127.0.0.2');
  const six = await secret('::1').catch(() => null);
  const door = await startSite(t);
  const { fetched } = await world(t, { 'budget.normal.tool_calls': 60 });
  const port = own.port;
  const urls = [
    own.url(), `http://localhost:${port}/`, `http://LOCALHOST.:${port}/`, `http://x.localhost:${port}/`,
    `http://2130706434:${port}/`, `http://0x7f000002:${port}/`, `http://0177.0.0.2:${port}/`,
    `http://127.2:${port}/`, `http://[::ffff:127.0.0.2]:${port}/`, `http://[::ffff:7f00:2]:${port}/`,
    `http://[::127.0.0.2]:${port}/`, `http://[64:ff9b::7f00:2]:${port}/`, `http://0.0.0.0:${port}/`,
    `http://169.254.169.254/latest/meta-data/`, `http://10.0.0.1/`, `http://192.168.1.1/`,
    `http://127.0.0.1@127.0.0.2:${port}/`, `http://127.0.0.1:${door.port}@127.0.0.2:${port}/`,
    `http://127.0.0.2:${port}\\@127.0.0.1:${door.port}/`, 'file:///etc/passwd', 'gopher://127.0.0.2/',
    'data:text/html,<p>hi', '', ' ', 'http://', 'http://[::1', `http://127.0.0.2:${port}0000/`,
    ...(six === null ? [] : [`http://[::1]:${six.port}/`, `http://[0:0:0:0:0:0:0:1]:${six.port}/`]),
  ];
  const away = urls.slice(0, 16).filter((u) => u.startsWith('http'));
  away.forEach((u, i) => door.on(`/away/${i}`, { status: 302, headers: { location: u } }));
  for (const list of [urls, away.map((u, i) => door.url(`/away/${i}`))]) {
    const { calls, told } = await fetched(...list.map((u) => fetch(u)));
    calls.forEach((c, i) => {
      assert.equal(c.state, 'failed', `${list[i]}: ${JSON.stringify(told[i])}`);
      assert.doesNotMatch(JSON.stringify(told[i]), /secret<|"secret"/);
    });
  }
  assert.equal(own.asked.length, 0);
  assert.equal(six?.asked.length ?? 0, 0);
});

test('web.allow opens addresses and names, and only those', BOUND, async (t) => {
  const one = await startSite(t, { '/': '<p>one</p>' }, '127.0.0.2');
  const two = await startSite(t, { '/': '<p>two</p>' }, '127.0.1.1');
  const { fetched } = await world(t, { 'web.allow': 'localhost 127.0.0.2/31' });
  const named = await startSite(t, { '/': '<p>named</p>' });
  const { calls } = await fetched(fetch(one.url()), fetch(two.url()), fetch(`http://localhost:${named.port}/`),
    fetch(named.url()));
  assert.deepEqual(calls.map((c) => c.state), ['done', 'failed', 'done', 'failed']);
  assert.match(calls[1].error, /127\.0\.1\.1.*not allowed/);
  assert.equal(two.asked.length, 0);
  // Of the public internet it connects to ports of the web alone.
  named.on('/away', { status: 302, headers: { location: 'http://[2606:4700::1111]:25/' } });
  const ports = await fetched(fetch('http://1.1.1.1:22/'), fetch(`http://localhost:${named.port}/away`));
  ports.calls.forEach((c) => assert.match(c.error, /its port is not among those that may be reached/));
});

test('what is too large, a bomb, or slow is given up, and said', BOUND, async (t) => {
  const { fetched } = await world(t, { 'web.timeout_ms': 1500 });
  const site = await startSite(t, {
    '/bomb': { type: 'text/html', headers: { 'content-encoding': 'gzip' },
      body: zlib.gzipSync(Buffer.alloc(64 << 20, 'sea ')) },
    '/long': (req, res) => {
      res.writeHead(200, { 'content-type': 'text/plain' });
      const more = () => {
        while (!res.destroyed && res.write('the sea is wide. '.repeat(4096)));
        res.once('drain', more);
      };
      more();
    },
    '/drip': (req, res) => {
      res.writeHead(200, { 'content-type': 'text/plain' });
      const timer = setInterval(() => res.write('.'), 100);
      res.on('close', () => clearInterval(timer));
    },
    '/cut': (req, res) => {
      res.writeHead(200, { 'content-type': 'text/plain', 'content-length': 1000 });
      res.write('half of it');
      setTimeout(() => res.destroy(), 100);
    },
  });
  site.on('/silent', site.hold('silent'));
  const turns = (req, res) => setTimeout(() => res.writeHead(302, { location: '/turns' }).end(), 600);
  site.on('/turns', turns);
  const paths = ['/bomb', '/long', '/drip', '/cut', '/silent', '/turns'];
  const { calls, told } = await fetched(...paths.map((p) => fetch(site.url(p))),
    fetch('http://no-such-host.invalid/'));
  assert.deepEqual(calls.map((c) => c.state), Array(7).fill('failed'));
  const want = [/too large/, /too large/, /in the time allowed/, /could not be read/, /in the time allowed/,
    /in the time allowed/, /no-such-host\.invalid could not be read/];
  want.forEach((w, i) => assert.match(told[i].error, w, paths[i]));
});

test('hostile pages cost their reader, not the runtime', BOUND, async (t) => {
  const { fetched, aside, send, model, whole } = await world(t);
  const site = await startSite(t, {
    '/deep': `<p>sea</p>${'<div>'.repeat(400000)}`,
    '/tags': `<p>sea</p>${'</b><b>'.repeat(300000)}`,
    '/flood': { type: 'text/plain', body: 'The sea is wide and deep. '.repeat(150000) },
    '/table': `<table>${'<tr><td>x<td>y'.repeat(100000)}</table>`,
  });
  const { calls, told } = await fetched(...['/deep', '/tags', '/flood', '/table'].map((p) => fetch(site.url(p))));
  assert.equal(calls[0].state, 'done', calls[0].error);
  assert.equal(calls[2].state, 'done', calls[2].error);
  assert.ok(told[2].has_more);
  model.next('entry', (req, reply) => reply.answer('Still here.'));
  assert.equal((await whole((await send('hello')).run.id)).run.answer.body, 'Still here.');
  assert.ok(aside);
});

test('R24 a stop in mid-fetch closes the connection; R29 a crash in mid-fetch is made up for', BOUND, async (t) => {
  const { model, aside, research, stop, run, whole, sql } = await world(t);
  const site = await startSite(t);
  site.on('/slow', site.hold('slow'));
  model.next('research', (req, reply) => reply.call(fetch(site.url('/slow'))));
  const r = await research('the sea');
  const held = await site.held('slow');
  await stop(r.id);
  await held.closed;
  await assertSettled(sql);
  assert.deepEqual((await run(r.id)).tool_calls.map((c) => [c.state, c.cause]), [['interrupted', 'stop']]);

  model.next('research', (req, reply) => reply.call(fetch(site.url('/slow'))));
  model.next('research', (req, reply) => reply.report('# Done'));
  const other = await research('the shore');
  await site.held('slow');
  await aside.part('asided').kill();
  aside.launch('asided');
  (await site.held('slow')).reply(200, 'text/plain', 'The sea at last.');
  const end = await whole(other.id);
  assert.deepEqual(end.tool_calls.slice(0, 1).map((c) => c.state), ['done']);
  assert.match(end.sources[0].text, /at last/);
  assertCallsAnswered(model);
  await assertSettled(sql);
});

test('a host is asked for two pages at once; the others wait, and go on', BOUND, async (t) => {
  const { model, research, run, stop, whole } = await world(t, { 'tools.parallel': 8, 'background.limit': 3, 'web.allow': '127.0.0.1 127.0.0.2' });
  const site = await startSite(t);
  const other = await startSite(t, { '/': '<p>Not held up.</p>' }, '127.0.0.2');
  const paths = Array.from({ length: 6 }, (_, i) => `/${i}`);
  paths.forEach((p) => site.on(p, site.hold('page')));
  model.next('research', (req, reply) => reply.call(...paths.map((p) => fetch(site.url(p))), fetch(other.url())));
  const r = await research('the sea');
  const first = [await site.held('page'), await site.held('page')];
  await eventually(() => other.asked.length === 1, { what: 'another host is asked meanwhile' });
  // Runs share the bound, and one that waits can be stopped.
  model.next('research', (req, reply) => reply.call(fetch(site.url('/other'))));
  const stopped = await research('another sea');
  await eventually(async () => (await run(stopped.id)).tool_calls[0]?.state === 'sent', { what: 'the other Run waits' });
  await stop(stopped.id);
  assert.equal(site.asked.length, 2);
  for (let i = 2; i < 6; i++) {
    first.shift().reply(200, 'text/plain', `Page ${i}.`);
    first.push(await site.held('page'));
    assert.equal(site.asked.length, i + 1);
  }
  model.next('research', (req, reply) => reply.report('# Done'));
  first.forEach((h) => h.reply(200, 'text/plain', 'The last.'));
  const end = await whole(r.id);
  assert.deepEqual(end.tool_calls.slice(0, 6).map((c) => c.state), Array(6).fill('done'));
  assert.equal(site.count('/other'), 0);
});

test('who gets no turn in time is told so', BOUND, async (t) => {
  const { fetched } = await world(t, { 'web.timeout_ms': 1000 });
  const site = await startSite(t);
  ['/a', '/b', '/c'].forEach((p) => site.on(p, site.hold('page')));
  const { calls, told } = await fetched(...['/a', '/b', '/c'].map((p) => fetch(site.url(p))));
  assert.deepEqual(calls.map((c) => c.state), Array(3).fill('failed'));
  assert.match(told[2].error, /too many pages of this host/);
  assert.equal(site.asked.length, 2);
});

test('a host that asks to be left alone is, until then', BOUND, async (t) => {
  const { fetched } = await world(t);
  const site = await startSite(t, { '/page': '<p>The sea.</p>' });
  const busy = (status, after) => ({ status, headers: after === null ? {} : { 'retry-after': after } });
  site.on('/down', busy(503, null)).on('/soon', busy(503, '1')).on('/busy', busy(429, '3600'));
  site.on('/away', { status: 302, headers: { location: '/page' } });
  const one = async (path) => (await fetched(fetch(site.url(path)))).told[0];
  assert.equal((await one('/down')).error, 'the server answered 503');
  assert.match((await one('/page')).passages[0].text, /The sea/);
  assert.match((await one('/soon')).error, /^the server answered 503: 127\.0\.0\.1 asks not to be read for 1 second/);
  await eventually(async () => (await one('/away')).passages, { what: 'the rest is over' });
  const { told } = await fetched(fetch(site.url('/busy')));
  assert.match(told[0].error, /^the server answered 429: 127\.0\.0\.1 asks not to be read for 3600 seconds$/);
  const asked = site.asked.length;
  const later = await fetched(fetch(site.url('/page')), fetch(site.url('/other')));
  later.told.forEach((r) => assert.match(r.error, /^127\.0\.0\.1 has asked not to be read for another 3\d\d\d seconds$/));
  assert.equal(site.asked.length, asked);
});

test('without configuration no tool of the web is offered, nor carried out', BOUND, async (t) => {
  const w = await started(t);
  const site = await startSite(t, { '/': '<p>sea</p>' });
  w.model.next('research', (req, reply) => reply.call(fetch(site.url()), ['web_search', { query: 'sea' }]));
  w.model.next('research', (req, reply) => reply.report('# Done'));
  const end = await w.whole((await w.research('the sea')).id);
  const offered = w.model.requests[0].body.tools.map((x) => x.function.name);
  assert.ok(!offered.some((name) => name.startsWith('web_')));
  assert.deepEqual(end.tool_calls.slice(0, 2).map((c) => c.state), ['failed', 'failed']);
  assert.match(end.tool_calls[0].error, /not read here/);
  assert.equal(site.asked.length, 0);
});

test('a search gives addresses and words; what it does not understand it says', BOUND, async (t) => {
  const site = await startSite(t);
  const { model, fetched, send, whole } = await world(t, { 'web.search_url': site.url('/search') });
  site.on('/search', (req, res) => {
    const q = new URL(req.url, 'http://x').searchParams;
    const hit = (n) => ({ title: `Hit ${n}`, url: `https://example.org/${n}#x`, content: `About ${q.get('q')}, ${n}.` });
    const replies = {
      broken: () => res.writeHead(200, { 'content-type': 'application/json' }).end('{"results":'),
      none: () => res.writeHead(200).end('{"results":[]}'),
      odd: () => res.writeHead(200).end('{"hits":[]}'),
      down: () => res.writeHead(502).end('<p>no</p>'),
      bare: () => res.writeHead(200).end('{"results":[{"url":"https://example.org/bare"}]}'),
      // More without an address than are looked at.
      junk: () => res.writeHead(200).end(JSON.stringify({ results: [...Array(200).fill({ url: 'gopher://x/' }), hit(1)] })),
    };
    (replies[q.get('q')] ?? (() => res.writeHead(200).end(JSON.stringify({
      results: [...Array.from({ length: 14 }, (_, i) => hit(i + 1)),
        { title: 'bad', url: 'javascript:alert(1)', content: 'x' }] }))))();
  });
  const ask = (query, more = {}) => ['web_search', { query, ...more }];
  const { calls, told, end } = await fetched(ask('tides & "moon" ü+'), ask('salt', { limit: 2 }), ask('none'),
    ask('broken'), ask('odd'), ask('down'), ask(''), ask('bare'), ask('junk'));
  assert.deepEqual(calls.map((c) => c.state),
    ['done', 'done', 'done', 'failed', 'failed', 'failed', 'failed', 'done', 'done']);
  assert.deepEqual([told[7].passages[0].title, told[7].passages[0].text], Array(2).fill('https://example.org/bare'));
  assert.deepEqual(told[8].passages, []);
  assert.equal(new URL(site.asked[0].path, 'http://x').searchParams.get('q'), 'tides & "moon" ü+');
  assert.equal(new URL(site.asked[0].path, 'http://x').searchParams.get('format'), 'json');
  assert.equal(told[0].passages.length, 8);
  assert.deepEqual(told[0].passages[0], { n: 1, id: told[0].passages[0].id, title: 'Hit 1',
    location: 'https://example.org/1', heading: '', text: 'About tides & "moon" ü+, 1.' });
  assert.equal(told[1].passages.length, 2);
  assert.equal(calls[0].summary, '8 pages for “tides & "moon" ü+”');
  assert.deepEqual(told.slice(3, 7).map((x) => typeof x.error), Array(4).fill('string'));
  assert.match(told[5].error, /502/);
  assert.equal(end.sources[0].location, 'https://example.org/1');

  // a short answer looks things up as well
  model.next('entry', (req, reply) => reply.call(ask('tides')));
  model.next('answer', (req, reply) => reply.answer('About tides [1].'));
  assert.equal((await whole((await send('tides?')).run.id)).run.answer.body, 'About tides [1].');
});

test('where the search service stands is not told when it is gone', BOUND, async (t) => {
  // Nobody listens where this one listened.
  const gone = net.createServer().listen(0, '127.0.0.1');
  await once(gone, 'listening');
  const { port } = gone.address();
  await new Promise((resolve) => gone.close(resolve));
  const { fetched, model } = await world(t, { 'web.search_url': `http://127.0.0.1:${port}/search` });
  const { end, calls, told } = await fetched(['web_search', { query: 'salt' }]);
  assert.equal(calls[0].state, 'failed');
  assert.match(told[0].error, /^the search service failed: ./);
  const text = model.requests.map((r) => JSON.stringify(r.body)).join('') + JSON.stringify(end);
  assert.ok(!text.includes(`:${port}`) && !text.includes(`port ${port}`), told[0].error);
});

test('a research over the web, a server of tools and the library: each citation opens; what is down is named', BOUND, async (t) => {
  const library = await shelf(t);
  const tools = await Everything.start(t);
  const { model, research, whole, aside, told } = await world(t,
    { 'web.timeout_ms': 2000, 'mcp.every.url': tools.url, 'policy.every': 'allow' }, { library });
  await ready(aside, 'every');
  const tables = await startSite(t, { '/tides.html': TIDES });
  const turning = await startSite(t, {
    '/start': { status: 301, headers: { location: '/moved/salt' } },
    '/moved/salt': '<title>Salt</title><p>Sea water holds 35 grams of salt in a litre.</p>',
  });
  turning.on('/slow', turning.hold('slow'));
  const papers = await startSite(t, {
    '/harbour.pdf': { type: 'application/pdf', body: pdf([['The tide at Cuxhaven is 3.1 metres.']]) },
  });
  let message = '';
  const plan = (slow) => {
    model.next('research', (req, reply) => reply.call(
      fetch(tables.url('/tides.html')), fetch(turning.url('/start')), fetch(papers.url('/harbour.pdf')),
      ['library_search', { query: 'tides moon' }], ['every__get-sum', { a: 12, b: 3 }], ...(slow ? [fetch(turning.url('/slow'))] : [])));
    model.next('research', (req, reply) => {
      const of = (pattern) => told().flatMap((r) => r.passages ?? []).find((p) => pattern.test(p.text)).n;
      reply.report('# The sea\n\n' +
        `Saint-Malo has 12.2 metres [${of(/Saint-Malo/)}], Cuxhaven 3.1 [${of(/Cuxhaven/)}].\n\n` +
        `A litre holds 35 grams of salt [${of(/35 grams/)}]; the tides follow the moon ` +
        `[${of(/tides follow the moon/)}], and 15 metres are the sum [${of(/sum of 12 and 3/)}].` + (slow ? '\n\nNot read: the page /slow.' : ''),
      slow ? [{ id: message, status: 'partial', note: `${turning.url('/slow')} gave no answer` }] : undefined);
    });
  };
  plan(false);
  const end = await whole((await research('the sea')).id);
  assert.equal(end.run.state, 'completed', JSON.stringify(end.run));
  const cited = [...end.run.answer.body.matchAll(/([^.;,]*?) \[(\d+)\]/g)];
  const facts = [/12\.2/, /3\.1/, /35 grams/, /tides follow the moon/, /12 and 3 is 15/];
  assert.equal(cited.length, facts.length);
  cited.forEach(([, , n], i) => {
    const source = end.sources.find((s) => s.n === Number(n));
    assert.match(source.text, facts[i]);
    assert.ok(source.location.length > 0);
  });
  plan(true);
  const again = await research('the sea again');
  message = again.message_id;
  const partial = await whole(again.id);
  assert.deepEqual([partial.run.state, partial.run.reason], ['incomplete', 'partial_coverage']);
  assert.match(partial.run.coverage.find((c) => c.status === 'partial').note, /\/slow gave no answer/);
  assert.match(partial.tool_calls.at(-2).error, /in the time allowed/);
});

test('what a server says in its headers is bytes, and no text of ours', BOUND, async (t) => {
  const { fetched, model } = await world(t);
  const replies = {
    '/type': 'HTTP/1.1 200 OK\r\nContent-Type: x/\xff\xfe\xe2\x82\x01"\\\r\nContent-Length: 2\r\n\r\nhi',
    '/away': 'HTTP/1.1 302 Found\r\nLocation: http://\xff\xfe.invalid/\xe2\x82\r\nContent-Length: 0\r\n\r\n',
    '/path': 'HTTP/1.1 302 Found\r\nLocation: /\xff \xfe\r\nContent-Length: 0\r\n\r\n',
    '/%ff%20%fe': 'HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nETag: "\xff\x01"\r\nContent-Length: 3\r\n\r\nsea',
    '/none': '\x00\x01\xff\xfe\r\n\r\n',
    '/two': 'HTTP/1.1 302 Found\r\nLocation: /path\r\nLocation: /none\r\nContent-Length: 0\r\n\r\n',
    '/nine': 'SSH-2.0-OpenSSH_9\r\n',
  };
  const server = net.createServer((socket) => socket.on('error', () => {}).once('data', (data) => {
    const path = /^GET (\S+)/.exec(data.toString('latin1'))?.[1];
    socket.end(Buffer.from(replies[path] ?? 'HTTP/1.1 404 No\r\nContent-Length: 0\r\n\r\n', 'latin1'));
  }));
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => server.close());
  const at = (path) => fetch(`http://127.0.0.1:${server.address().port}${path}`);
  for (let i = 0; i < 2; i++) { // the second time with what the first has kept
    const { calls, told, end } = await fetched(...['/type', '/away', '/path', '/none', '/nine', '/two'].map(at));
    assert.equal(end.run.state, 'completed');
    assert.deepEqual(calls.slice(0, 5).map((c) => c.state), ['failed', 'failed', 'done', 'failed', 'failed'],
      JSON.stringify(told));
    assert.match(told[0].error, /only HTML/);
    assert.match(told[2].location, /%FF%20%FE$/i);
  }
  assert.ok(model.requests.every((r) => !/[\0-\x1f\x7f]/.test(JSON.stringify(r.body))));
});

test('a reader goes with its call, and with the runtime', BOUND, async (t) => {
  const { model, aside, research, stop, whole, sql } = await world(t);
  // Quick to send, long to read: it is at work when it is killed.
  const slow = `<p>sea</p>${'<b>'.repeat(500)}${'</i>'.repeat(300000)}`;
  const site = await startSite(t, { '/slow': slow });
  const proc = (pid, what) => readFile(`/proc/${pid}/${what}`, 'utf8').catch(() => '');
  const reader = () => eventually(async () => {
    const own = aside.part('asided').pid;
    for (const pid of (await proc(own, `task/${own}/children`)).split(' ')) {
      if (/aside\0read\0html\0/.test(await proc(pid, 'cmdline'))) {
        return pid;
      }
    }
    return null;
  }, { what: 'a reader is at work' });
  for (const end of ['stop', 'kill']) {
    model.next('research', (req, reply) => reply.call(fetch(site.url('/slow'))));
    const r = await research('the sea');
    const pid = await reader();
    assert.match(await proc(pid, 'environ'), /^PATH=[^\0]*\0?$/);
    const files = await readdir(`/proc/${pid}/fd`).catch(() => []);
    assert.ok(files.length <= 4, `${files}`); // its own two, the log, what it opens
    if (end === 'stop') {
      await stop(r.id);
    } else {
      await aside.part('asided').kill();
    }
    await eventually(async () => await proc(pid, 'cmdline') === '',
      { what: `the reader is gone after ${end}` });
    if (end === 'kill') {
      aside.launch('asided');
      model.next('research', (req, reply) => reply.report('# Done'));
      assert.equal((await whole(r.id)).run.state, 'completed');
    }
  }
  await assertSettled(sql);
});
