// scripted-model.mjs - a model endpoint whose every reply a test writes.
//
// It speaks streaming Chat Completions on a free loopback port, inside the test
// process. Handlers are asked in this order: those of `next` (each once, in
// the order they were given), those of `on` (the newest first), the defaults.
//
//   model.next('entry', (req, reply) => reply.answer('Hello.'));
//   model.next('research', async (req, reply) => {
//     reply.text('I look ');
//     await reply.hold('looking');           // until the test lets it go on
//     reply.call(['library_search', { query: 'WAL' }]);
//   });
//   const held = await model.held('looking');
//   held.release();

import { readFile } from 'node:fs/promises';
import http from 'node:http';

import { eventually } from './harness.mjs';
import { bodyOf } from './http.mjs';
import { Watched } from './watched.mjs';

const USAGE = { prompt_tokens: 100, completion_tokens: 10, total_tokens: 110 };

/** entry, answer, research or closeout: by the tools that are offered. */
export function purposeOf(body) {
  const names = (body?.tools ?? []).map((tool) => tool.function?.name ?? '');
  if (names.some((name) => name.endsWith('_research'))) {
    return 'entry';
  }
  if (names.includes('deliver_report')) {
    return names.length === 1 ? 'closeout' : 'research';
  }
  return 'answer';
}

const MARKED = /^\[data\]\n\| ([^]*)\n\[end of data\]$/;

/** The text within the marks of data, as a tool brought it; m.marked if it had them. */
export function unmark(m) {
  const inner = MARKED.exec(m.content)?.[1];
  if (inner !== undefined) {
    Object.defineProperty(m, 'marked', { value: m.content });
    m.content = inner.replace(/(\r\n|[\n\r\v\f\u0085\u2028\u2029])\| /g, '$1');
  }
}

/** All text of a request's messages, one after the other. */
export function textOf(body) {
  const text = (content) => Array.isArray(content)
    ? content.map((part) => part.text ?? '').join('') : content ?? '';
  return body.messages.map((message) => text(message.content)).join('\n');
}

class Reply {
  constructor(model, record, res) {
    this.model = model;
    this.record = record;
    this.res = res;
    this.calls = 0;
    this.started = false; // a delta was sent
    this.startedAt = Infinity;
    this.ended = false;
    this.id = `chatcmpl-${record.n}`;
    /** Resolves when the other side hung up before the reply was over. */
    this.closed = new Promise((resolve) => {
      res.on('close', () => {
        if (!this.ended) {
          record.aborted = true;
          record.abortedAt = Date.now();
          this.ended = true;
          resolve();
          model.changed();
        }
      });
    });
  }

  /** Send headers and nothing else yet. */
  head() {
    if (!this.res.headersSent && !this.ended) {
      this.res.writeHead(200, { 'content-type': 'text/event-stream' });
      this.res.flushHeaders();
    }
    return this;
  }

  /** Bytes as they are. */
  raw(bytes) {
    this.head();
    if (!this.ended) {
      this.res.write(bytes);
    }
    return this;
  }

  comment(text = 'processing') {
    return this.raw(`: ${text}\n\n`);
  }

  /** Any chunk; what is not given has its usual value. */
  chunk(fields) {
    return this.raw(`data: ${JSON.stringify({
      id: this.id, object: 'chat.completion.chunk', created: 1700000000,
      model: 'scripted', choices: [], ...fields,
    })}\n\n`);
  }

  delta(delta, finish = null) {
    const role = this.started ? {} : { role: 'assistant' };
    this.started = true;
    this.startedAt = Math.min(this.startedAt, Date.now());
    return this.chunk({
      choices: [{ index: 0, delta: { ...role, ...delta }, finish_reason: finish }],
    });
  }

  text(content) {
    return this.delta({ content });
  }

  /** args: an object, or a string that is sent as it is. */
  toolCall(name, args = {}, id = undefined) {
    const index = this.calls++;
    return this.delta({
      tool_calls: [{
        index, id: id ?? `call_${this.record.n}_${index}`, type: 'function',
        function: { name, arguments: typeof args === 'string' ? args : JSON.stringify(args) },
      }],
    });
  }

  finish(reason = 'stop') {
    return this.delta({}, reason);
  }

  usage(usage = USAGE) {
    return this.chunk({ usage });
  }

  errorInStream(error = { message: 'the model fell over', type: 'server_error', code: 500 }) {
    return this.chunk({ error, choices: undefined });
  }

  /** The proper end of a stream. */
  done() {
    return this.raw('data: [DONE]\n\n').end();
  }

  /** The stream ends here, whatever was sent. */
  end() {
    this.head();
    if (!this.ended) {
      this.ended = true;
      this.res.end();
    }
    return this;
  }

  /** The connection breaks here. */
  cut() {
    this.ended = true;
    this.res.socket?.destroy();
    return this;
  }

  /** Another status than 200: status(429, { 'retry-after': '1' }, {...}). */
  status(code, headers = {}, body = { error: { message: `status ${code}`, code } }) {
    this.ended = true;
    const text = typeof body === 'string' ? body : JSON.stringify(body);
    this.res.writeHead(code, { 'content-type': 'application/json', ...headers });
    this.res.end(text);
    return this;
  }

  /** A whole answer. */
  answer(text, usage = USAGE) {
    return this.text(text).finish('stop').usage(usage).done();
  }

  /** A whole reply of tool calls, each [name, args, id]. */
  call(...calls) {
    for (const call of calls) {
      this.toolCall(...call);
    }
    return this.finish('tool_calls').usage().done();
  }

  /** A whole report; by default everything named in the prompt is covered. */
  report(report, coverage = coverageOf(this.record.body)) {
    return this.call(['deliver_report', { report, coverage }]);
  }

  /** Wait until the other side has read all that was sent: neither socket holds a byte. */
  arrived() {
    const { socket } = this.res;
    const ports = [socket.localPort, socket.remotePort]
      .map((port) => `:${port.toString(16).toUpperCase().padStart(4, '0')}`);
    const between = ([, from, to]) => ports.some((port) => from?.endsWith(port)) &&
      ports.some((port) => to?.endsWith(port));
    return eventually(async () => {
      const rows = (await readFile('/proc/net/tcp', 'utf8')).split('\n').map((row) => row.trim().split(/\s+/));
      const queues = rows.filter(between).map((row) => row[4]);
      return socket.writableLength === 0 && queues.length === 2 &&
        queues.every((queue) => queue === '00000000:00000000');
    }, { what: 'what was sent has been read' });
  }

  /**
   * Wait here until the test calls release() of what model.held(name) gave, or
   * the other side hangs up. Resolves to 'released' or 'closed'.
   */
  hold(name = '') {
    return new Promise((resolve) => {
      const held = { name, req: this.record, reply: this, release: () => resolve('released') };
      this.model.holds.push(held);
      this.model.changed();
      this.closed.then(() => resolve('closed'));
    });
  }
}

/**
 * The ids of what a research is asked, in the order it was said. A handler has them from
 * its request: it may be asked before the test has the reply to what it said.
 */
export function asked(req) {
  const heads = textOf(req.body).matchAll(/^\[(?:requirement|adjustment) (msg_\d+)\]/gm);
  return [...new Set([...heads].map((head) => head[1]))];
}

function coverageOf(body) {
  const ids = new Set(textOf(body).match(/\bmsg_\d+\b/g) ?? []);
  return [...ids].map((id) => ({ id, status: 'covered', note: '' }));
}

const DEFAULTS = {
  entry: (req, reply) => reply.answer('A scripted answer.'),
  answer: (req, reply) => reply.answer('A scripted answer.'),
  research: (req, reply) => reply.report('A scripted report.'),
  closeout: (req, reply) => reply.report('A scripted closing report.'),
};

const matches = (matcher, record) =>
  matcher === undefined || matcher === record.purpose ||
  (typeof matcher === 'function' && matcher(record));

export class ScriptedModel extends Watched {
  /** @param {{t?: import('node:test').TestContext}} [options] */
  static async start({ t } = {}) {
    const model = new ScriptedModel();
    model.server.listen(0, '127.0.0.1');
    await new Promise((resolve) => model.server.once('listening', resolve));
    model.port = model.server.address().port;
    model.url = `http://127.0.0.1:${model.port}/v1`;
    t?.after(() => model.close());
    return model;
  }

  constructor() {
    super('the model');
    /** Every request: {n, purpose, body, raw, headers, path, at, aborted, reply} */
    this.requests = [];
    /** Whether it is there at all is asked without POST: {method, path, at}. */
    this.probes = [];
    this.probeReply = { status: 200, body: { object: 'list', data: [] } };
    /** Requests whose sender left before they were whole. */
    this.cutOff = 0;
    this.holds = [];
    this.once = [];
    this.always = [];
    this.faults = [];
    this.server = http.createServer((req, res) => this.take(req, res));
    this.server.keepAliveTimeout = 60000;
  }

  /** matcher: a purpose, or a function of the record; may be left out. */
  next(matcher, handler) {
    this.once.push(handler ? { matcher, handler } : { handler: matcher });
    return this;
  }

  on(matcher, handler) {
    this.always.unshift(handler ? { matcher, handler } : { handler: matcher });
    return this;
  }

  handlerFor(record) {
    const i = this.once.findIndex(({ matcher }) => matches(matcher, record));
    if (i >= 0) {
      return this.once.splice(i, 1)[0].handler;
    }
    return this.always.find(({ matcher }) => matches(matcher, record))?.handler ??
      DEFAULTS[record.purpose];
  }

  async take(req, res) {
    if (req.method === 'GET' && req.url.endsWith('/models')) {
      // How the runtime asks whether somebody is there.
      res.writeHead(200, { 'content-type': 'application/json' });
      res.end('{"object":"list","data":[]}');
      return;
    }
    const at = Date.now();
    const raw = await bodyOf(req);
    if (raw === null) {
      this.cutOff += 1;
      this.changed();
      return;
    }
    if (req.method !== 'POST') {
      this.probes.push({ method: req.method, path: req.url, at });
      const { status, body } = this.probeReply;
      res.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
      return;
    }
    const record = {
      n: this.requests.length + 1, raw, headers: req.headers, path: req.url, at,
      aborted: false, body: null, purpose: 'answer',
    };
    record.reply = new Reply(this, record, res);
    this.requests.push(record);
    try {
      record.body = JSON.parse(raw.toString('utf8'));
      record.body.messages.filter((m) => m.role === 'tool').forEach(unmark);
      record.purpose = purposeOf(record.body);
      this.changed();
      await this.handlerFor(record)(record, record.reply);
      if (!record.reply.ended) {
        throw new Error('the handler returned without ending its reply');
      }
    } catch (error) {
      this.faults.push(`request ${record.n} (${record.purpose}): ${error.stack}`);
      record.reply.cut();
    }
    this.changed();
  }

  seen() {
    return this.requests.map((r) => r.purpose).join(', ');
  }

  /** The first request that matches, past or future. */
  received(matcher, ms) {
    return this.wait(() => this.requests.find((r) => r.body && matches(matcher, r)),
      `a request (${matcher})`, ms);
  }

  /** The handler that stands in hold(name); each is given out once. */
  held(name = '', ms = undefined) {
    return this.wait(() => {
      const i = this.holds.findIndex((held) => held.name === name);
      return i >= 0 ? this.holds.splice(i, 1)[0] : null;
    }, `a reply held as "${name}"`, ms);
  }

  /** Close everything. What its handlers did wrong is told by startAside. */
  async close() {
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }

  /** Close everything. Throws if a handler failed. */
  async stop() {
    await this.close();
    if (this.faults.length > 0) {
      throw new Error(`scripted model:\n${this.faults.join('\n')}`);
    }
  }
}
