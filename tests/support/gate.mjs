// gate.mjs - the way from Aside to a model: a test says which research
// requests may go on, and so how far a research comes; the model itself is as
// fast as it is.

import http from 'node:http';

import { bodyOf } from './http.mjs';
import { purposeOf } from './scripted-model.mjs';

export class Gate {
  /**
   * @param {import('node:test').TestContext} t
   * @param {string} target the model's url, up to /v1
   */
  static async open(t, target) {
    const gate = new Gate(target);
    gate.server.listen(0, '127.0.0.1');
    await new Promise((resolve) => gate.server.once('listening', resolve));
    gate.url = `http://127.0.0.1:${gate.server.address().port}/v1`;
    t.after(() => gate.close());
    return gate;
  }

  constructor(target) {
    this.target = target;
    this.mayPass = () => true;
    this.held = new Set();
    this.server = http.createServer((req, res) => this.take(req, res));
  }

  /** From now on, and for what is held: mayPass(text of the request). */
  rule(mayPass) {
    this.mayPass = mayPass;
    for (const look of [...this.held]) {
      look();
    }
  }

  async take(req, res) {
    const body = await bodyOf(req);
    if (body === null) {
      return;
    }
    const text = body.toString('utf8');
    if (req.method === 'POST' && purposeOf(JSON.parse(text)) === 'research') {
      await this.passed(text, res);
    }
    if (!res.destroyed) {
      this.forward(req, body, res);
    }
  }

  /** Resolves when it may pass, or whoever asked has gone. */
  passed(text, res) {
    return new Promise((resolve) => {
      const look = () => {
        if (res.destroyed || this.mayPass(text)) {
          this.held.delete(look);
          resolve();
        }
      };
      this.held.add(look);
      res.on('close', look);
      look();
    });
  }

  forward(req, body, res) {
    const url = new URL(this.target + req.url.replace(/^\/v1/, ''));
    const { host: _, ...headers } = req.headers;
    const there = http.request(url, { method: req.method, headers, agent: false }, (reply) => {
      res.writeHead(reply.statusCode, reply.headers);
      reply.on('error', () => res.destroy());
      reply.pipe(res);
    });
    there.on('error', () => res.destroy());
    res.on('close', () => there.destroy());
    there.end(body);
  }

  async close() {
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }
}
