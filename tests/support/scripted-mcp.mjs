// scripted-mcp.mjs - a server of the Model Context Protocol whose every fault a
// test writes: Streamable HTTP on a free loopback port, in the test process.
//
//   const mcp = await ScriptedMcp.start({ t });
//   mcp.tool('look', { readOnlyHint: true }, (call) => call.text('found'));
//   mcp.intercept = (msg, req, res) => msg.method === 'tools/list' && ...;
//
// Everything that came is kept: requests {method, headers, msg, session}.

import { randomUUID } from 'node:crypto';
import http from 'node:http';

import { bodyOf } from './http.mjs';
import { Watched } from './watched.mjs';

/** One tools/call, and what the test does with it. */
class Call {
  constructor(mcp, msg, req, res) {
    this.mcp = mcp;
    this.msg = msg;
    this.id = msg.id;
    this.args = msg.params.arguments;
    this.req = req;
    this.res = res;
    this.closed = false;
    res.on('close', () => {
      this.closed = true;
      mcp.changed();
    });
  }

  /** From here on the reply is an event stream. */
  stream() {
    if (!this.res.headersSent) {
      this.res.writeHead(200, { 'content-type': 'text/event-stream' });
      this.res.flushHeaders();
    }
    return this;
  }

  raw(bytes) {
    this.stream();
    this.res.write(bytes);
    return this;
  }

  event(message, id = randomUUID()) {
    return this.raw(`event: message\nid: ${id}\ndata: ${
      typeof message === 'string' ? message : JSON.stringify({ jsonrpc: '2.0', ...message })}\n\n`);
  }

  progress(fields) {
    return this.event({
      method: 'notifications/progress',
      params: { progressToken: this.msg.params._meta?.progressToken, ...fields },
    });
  }

  /** The end of the call: as an event if a stream was begun, else as JSON. */
  result(result) {
    const message = { jsonrpc: '2.0', id: this.id, result };
    if (this.res.headersSent) {
      this.event(message);
      this.res.end();
    } else {
      this.res.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(message));
    }
  }

  text(...texts) {
    this.result({ content: texts.map((text) => ({ type: 'text', text })) });
  }

  /** The connection breaks here. */
  cut() {
    this.res.socket?.destroy();
  }
}

export class ScriptedMcp extends Watched {
  /** @param {{t?: import('node:test').TestContext, port?: number}} [options] */
  static async start({ t, port = 0 } = {}) {
    const mcp = new ScriptedMcp();
    await mcp.listen(port);
    t?.after(() => mcp.close());
    return mcp;
  }

  constructor() {
    super('the MCP server');
    this.requests = [];
    this.tools = [];
    this.handlers = new Map();
    this.sessions = new Set();
    this.streams = new Set(); // open GET streams
    this.calls = [];
    this.version = null; // what it answers; null: what was asked for
    this.hasStream = true;
    /** Goes on after an event: (id, res, req). Without it no events are kept. */
    this.resume = null;
    /** Asked first of every POST: true if it has answered. */
    this.intercept = null;
  }

  async listen(port) {
    this.server = http.createServer((req, res) => this.take(req, res));
    this.server.listen(port, '127.0.0.1');
    await new Promise((resolve, reject) => {
      this.server.once('listening', resolve).once('error', reject);
    });
    this.port = this.server.address().port;
    this.url = `http://127.0.0.1:${this.port}/mcp`;
  }

  tool(name, annotations, handler, more = {}) {
    this.tools.push({
      name, description: `does ${name}`, inputSchema: { type: 'object' }, annotations, ...more,
    });
    this.handlers.set(name, handler);
    return this;
  }

  /** All messages of this method that came. */
  of(method) {
    return this.requests.filter((r) => r.msg?.method === method);
  }

  async take(req, res) {
    const raw = await bodyOf(req);
    if (raw === null) {
      return;
    }
    const msg = req.method === 'POST' ? JSON.parse(raw.toString('utf8')) : null;
    const session = req.headers['mcp-session-id'];
    this.requests.push({ method: req.method, headers: req.headers, msg, session });
    this.changed();
    if (msg !== null && this.intercept?.(msg, req, res)) {
      return;
    }
    if (msg?.method === 'initialize') {
      this.greet(msg, res);
    } else if (!this.sessions.has(session)) {
      res.writeHead(404).end();
    } else if (req.headers['last-event-id'] !== undefined) {
      if (this.resume === null) {
        res.writeHead(400).end();
      } else {
        this.resume(req.headers['last-event-id'], res, req);
      }
    } else if (req.method === 'GET') {
      this.open(res);
    } else if (req.method === 'DELETE') {
      this.sessions.delete(session);
      res.writeHead(200).end();
    } else {
      this.answer(msg, req, res);
    }
  }

  greet(msg, res) {
    const session = randomUUID();
    this.sessions.add(session);
    this.reply(res, msg, {
      protocolVersion: this.version ?? msg.params.protocolVersion,
      capabilities: { tools: { listChanged: true } },
      serverInfo: { name: 'scripted', version: '1' },
    }, { 'mcp-session-id': session });
  }

  open(res) {
    if (!this.hasStream) {
      res.writeHead(405).end();
      return;
    }
    res.writeHead(200, { 'content-type': 'text/event-stream' });
    res.flushHeaders();
    this.streams.add(res);
    res.on('close', () => this.streams.delete(res));
    this.changed();
  }

  answer(msg, req, res) {
    if (msg.id === undefined || msg.method === undefined) {
      res.writeHead(202).end();
    } else if (msg.method === 'tools/list') {
      this.reply(res, msg, { tools: this.tools });
    } else if (msg.method === 'tools/call') {
      const call = new Call(this, msg, req, res);
      this.calls.push(call);
      this.changed();
      this.handlers.get(msg.params.name)(call);
    } else {
      this.reply(res, msg, undefined, {}, { code: -32601, message: 'Method not found' });
    }
  }

  reply(res, msg, result, headers = {}, error = undefined) {
    res.writeHead(200, { 'content-type': 'application/json', ...headers });
    res.end(JSON.stringify({ jsonrpc: '2.0', id: msg.id, result, error }));
  }

  /** A message on every open stream of news. */
  async say(message) {
    await this.wait(() => this.streams.size > 0, 'a stream of news');
    for (const res of this.streams) {
      res.write(`data: ${JSON.stringify({ jsonrpc: '2.0', ...message })}\n\n`);
    }
  }

  seen() {
    return this.requests.map((r) => r.msg?.method ?? r.method).join(', ');
  }

  /** The n-th message of this method, from 1. */
  got(method, n = 1, ms = undefined) {
    return this.wait(() => this.of(method)[n - 1], `${method} number ${n}`, ms);
  }

  /** The n-th call of a tool, from 1. */
  called(n = 1) {
    return this.wait(() => this.calls[n - 1], `call number ${n}`);
  }

  /** Gone, with all it knew of sessions; `listen` brings it back. */
  async close() {
    this.sessions.clear();
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }
}
