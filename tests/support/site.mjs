// site.mjs - web servers of the tests: what stands at a path is a text, bytes
// with headers, or a function; a page may be held until the test lets it go on.
//
//   const site = await startSite(t, { '/a': '<h1>A</h1>' });
//   site.on('/slow', site.hold('slow'));
//   const held = await site.held('slow');   // somebody has asked
//   held.reply(200, 'text/plain', 'late');  // or: await held.closed

import http from 'node:http';

import { eventually } from './harness.mjs';

class Held {
  constructor(name, req, res) {
    Object.assign(this, { name, req, res, over: false });
    /** The other side has hung up before a reply was whole. */
    this.closed = new Promise((resolve) => res.on('close', () => {
      this.over = true;
      resolve(Date.now());
    }));
  }

  reply(status = 200, type = 'text/plain', body = 'held') {
    this.res.writeHead(status, { 'content-type': type });
    this.res.end(body);
  }
}

class Site {
  constructor(pages) {
    this.pages = new Map(Object.entries(pages));
    this.asked = []; // {method, path, headers} in order
    this.holding = [];
  }

  on(path, page) {
    this.pages.set(path, page);
    return this;
  }

  /** A page that answers when the test says so. */
  hold(name) {
    return (req, res) => {
      this.holding.push(new Held(name, req, res));
    };
  }

  /** The oldest request held under this name that is not taken yet. */
  async held(name) {
    return eventually(() => {
      const at = this.holding.findIndex((h) => h.name === name);
      return at >= 0 ? this.holding.splice(at, 1)[0] : null;
    }, { what: `somebody asks for ${name}` });
  }

  count(path) {
    return this.asked.filter((a) => a.path === path).length;
  }

  serve(req, res) {
    this.asked.push({ method: req.method, path: req.url, headers: req.headers });
    const page = this.pages.get(req.url) ?? this.pages.get(new URL(req.url, 'http://x').pathname);
    if (page === undefined) {
      res.writeHead(404, { 'content-type': 'text/html' }).end('<p>nothing here</p>');
    } else if (typeof page === 'function') {
      page(req, res);
    } else if (typeof page === 'string') {
      res.writeHead(200, { 'content-type': 'text/html; charset=utf-8' }).end(page);
    } else {
      res.writeHead(page.status ?? 200, { 'content-type': page.type ?? 'text/html', ...page.headers });
      res.end(page.body ?? '');
    }
  }
}

/** A web server on 127.0.0.1 that ends with the test. */
export async function startSite(t, pages = {}, host = '127.0.0.1') {
  const site = new Site(pages);
  const server = http.createServer((req, res) => site.serve(req, res));
  await new Promise((resolve, reject) => {
    server.once('error', reject).listen(0, host, resolve);
  });
  site.port = server.address().port;
  site.url = (path = '/') => `http://${host.includes(':') ? `[${host}]` : host}:${site.port}${path}`;
  site.close = () => new Promise((resolve) => {
    server.close(resolve);
    server.closeAllConnections();
  });
  t.after(() => site.close());
  return site;
}
