// everything.mjs - the reference server of the Model Context Protocol.

import path from 'node:path';

import { freePort, ROOT } from './harness.mjs';
import { Program } from './process.mjs';

const EVERYTHING =
  path.join(ROOT, 'node_modules/@modelcontextprotocol/server-everything/dist/index.js');
const LOOPBACK = path.join(ROOT, 'tests/support/loopback.mjs');

/** The reference server on a port of its own. */
export class Everything {
  static async start(t) {
    const server = new Everything();
    server.port = await freePort();
    server.url = `http://127.0.0.1:${server.port}/mcp`;
    await server.begin();
    t.after(() => server.program.kill());
    return server;
  }

  async begin() {
    this.program = new Program('everything',
      [process.execPath, '--import', LOOPBACK, EVERYTHING, 'streamableHttp'],
      { env: { ...process.env, PORT: String(this.port) } });
    await this.program.logged(/listening on port/);
  }
}

/** Wait until the runtime has a session with a server, the n-th one. */
export const ready = (aside, name, n = 1) => aside.part('asided').logged(
  new RegExp(`(mcp\\.${name} ready: [^]*){${n}}`));
