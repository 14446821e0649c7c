// harness.mjs - a whole Aside for one test: nginx, responders, runtime and,
// if wanted, the offline model, on free ports in a temporary folder.
//
//   const model = await ScriptedModel.start();
//   const aside = await startAside({ t, model, conf: { 'short.limit': 1 } });
//   const { json } = await aside.api('POST', '/conversations', {});
//   await aside.until((s) => s.runs.get(id)?.state === 'completed');
//
// The parts are started directly, not by the supervisor, so that a test can
// kill and restart each. With `t` the end of the test stops everything, and
// fails it if a sanitizer complained or a part ended unasked.

import { randomUUID } from 'node:crypto';
import dgram from 'node:dgram';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import net from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

import { Feed } from './feed.mjs';
import { JITTER, request } from './http.mjs';
import { PATIENCE_MS } from './patience.mjs';
import { Program } from './process.mjs';

export const ROOT = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../..');
export const BUILD = path.join(ROOT, 'build');
export const bin = (name, san = true) =>
  path.join(BUILD, san ? 'san' : 'release', name);

/** The folder of nginx is not in every PATH. */
export const PATH_WITH_SBIN = `${process.env.PATH}:/usr/sbin:/usr/local/sbin`;

const TRIES = 3; // somebody else may take a free port first

// Below those that the kernel gives to outgoing connections.
const FIRST_PORT = 20000;
const PORTS = 12000;

/** Bind, and tell whether that worked. */
function binds(socket, bind) {
  return new Promise((resolve) => {
    socket.once('error', () => resolve(false)).once('listening', () => resolve(true));
    bind();
  });
}

/**
 * A TCP port of 127.0.0.1 that nobody listens on, and that no other test will
 * be given while this process lives: its UDP namesake is held as a mark.
 */
export async function freePort() {
  for (let attempt = 0; attempt < 100; attempt++) {
    const port = FIRST_PORT + Math.floor(Math.random() * PORTS);
    const mark = dgram.createSocket('udp4');
    const server = net.createServer();
    if (await binds(mark, () => mark.bind({ port, address: '127.0.0.1', exclusive: true })) &&
        await binds(server, () => server.listen(port, '127.0.0.1'))) {
      await new Promise((resolve) => server.close(resolve));
      mark.unref();
      return port;
    }
    mark.close();
  }
  throw new Error('no free port');
}

export async function temporaryDir() {
  return mkdtemp(path.join(os.tmpdir(), 'aside-test-'));
}

/** Ask again, every 20 ms, until step() returns a true value. */
export async function eventually(step, { ms = PATIENCE_MS, what = step.toString() } = {}) {
  const deadline = Date.now() + ms;
  for (;;) {
    let trouble = '';
    try {
      const value = await step();
      if (value) {
        return value;
      }
    } catch (error) {
      if (error.fatal) {
        throw error;
      }
      trouble = `: ${error.message}`;
    }
    if (Date.now() > deadline) {
      throw new Error(`not within ${ms} ms: ${what}${trouble}`);
    }
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

let leaks = 0;

/**
 * From here on programs that end look for what they leaked. It is a quarter of
 * what a test costs, so a file asks for it where much is allocated in ways of
 * its own; the unit tests and the runs in tests/strict/ look always.
 */
export function lookForLeaks() {
  leaks = 1;
}

/**
 * nginx/run.conf.in with its blanks filled in, as the supervisor does it.
 * @param {{port: number, runDir: string, staticDir: string, prefix?: string,
 *          offline?: boolean, sockets?: string, connections?: number}} values
 */
export async function nginxConf({
  port, runDir, staticDir, prefix = '', offline = false, sockets = runDir, connections = 4000,
}) {
  const root = process.getuid() === 0;
  const blanks = {
    USER: root ? '' : '#', OWNER: root ? 'root root' : 'nobody', IPV6: '#',
    PREFIXED: prefix ? '' : '#', OFFLINE: offline ? '' : '#',
    PORT: port, PREFIX: prefix, RUN: runDir, SOCKETS: sockets,
    STATIC: staticDir, FILES: connections + 96, CONNECTIONS: connections,
  };
  const text = await readFile(path.join(ROOT, 'nginx/run.conf.in'), 'utf8');
  return text.replace(/@([A-Z0-9]+)@/g, (whole, name) => blanks[name] ?? whole);
}

/** Does somebody listen on this Unix socket? */
function listening(socket) {
  return new Promise((resolve) => {
    const peer = net.connect(socket);
    peer.once('error', () => resolve(false));
    peer.once('connect', () => {
      peer.destroy();
      resolve(true);
    });
  });
}

function environment(options, dirs, modelUrl) {
  const env = { ...process.env };
  for (const name of Object.keys(env)) {
    if (name.startsWith('ASIDE_')) {
      delete env[name]; // the person's own settings are not the test's
    }
  }
  const conf = {
    data: dirs.data, library: dirs.library, 'log.level': 'debug',
    'model.url': modelUrl, 'model.name': 'scripted', ...options.conf,
  };
  for (const [key, value] of Object.entries(conf)) {
    env[`ASIDE_${key.toUpperCase().replaceAll('.', '_')}`] = String(value);
  }
  env.ASAN_OPTIONS = `exitcode=99:detect_leaks=${leaks}`;
  if (JITTER) {
    env.LD_PRELOAD = JITTER;
    env.ASAN_OPTIONS += ':verify_asan_link_order=0';
  }
  env.UBSAN_OPTIONS = 'print_stacktrace=1';
  return { ...env, ...options.env };
}

class Aside {
  constructor(options) {
    this.options = options;
    this.prefix = options.conf?.prefix ?? '';
    this.base = `${this.prefix}/api/v1`;
    this.parts = new Map(); // name -> the Program that is or was running
    this.past = []; // Programs that were replaced by a restart
    this.commands = new Map(); // name -> (variables, words before) => Program
  }

  async prepare() {
    const { options } = this;
    this.ownDir = options.dir === undefined;
    this.dir = options.dir ?? await temporaryDir();
    this.dataDir = path.join(this.dir, 'data');
    this.libraryDir = options.library ?? path.join(this.dir, 'library');
    this.staticDir = options.static ?? path.join(this.dir, 'static');
    await mkdir(this.dataDir, { recursive: true, mode: 0o700 });
    if (options.library === undefined) {
      await mkdir(this.libraryDir, { recursive: true });
    }
    if (options.static === undefined) {
      await mkdir(this.staticDir, { recursive: true });
      await writeFile(path.join(this.staticDir, 'index.html'), '<!doctype html>a page\n');
    }
    this.port = options.port ?? await freePort();
    const offline = options.model === 'offline';
    const url = offline
      ? `http://127.0.0.1:${this.port}/offline/v1`
      : options.model?.url ?? 'http://127.0.0.1:9/v1';
    this.env = environment(
      options, { data: this.dataDir, library: this.libraryDir }, url);
    this.describeParts(offline);
  }

  describeParts(offline) {
    const { env, options } = this;
    const san = options.san ?? true;
    const place = (name) => options.programs?.[name] ?? bin(name, san);
    const add = (name, command, more = {}) => this.commands.set(
      name, (others = {}, before = []) => new Program(
        name, [...before, ...command], { env: { ...env, ...others }, ...more }));
    for (let n = 1; n <= (options.responders ?? 2); n++) {
      const socket = path.join(this.dir, `responder-${n}.sock`);
      add(`responder-${n}`, options.spawnFcgi
        ? ['spawn-fcgi', '-n', '-s', socket, '--', place('aside.fcgi')]
        : [place('aside.fcgi'), '-s', socket]);
    }
    if (offline) {
      add('offline', [place('aside-offline.fcgi'), '-s', path.join(this.dir, 'offline.sock')]);
    }
    add('nginx', ['nginx', '-e', 'stderr', '-p', this.dir, '-c', path.join(this.dir, 'nginx.conf')],
      { env: { ...env, PATH: PATH_WITH_SBIN }, orphanSignal: 'TERM' });
    if (options.runtime !== false) {
      add('asided', [place('asided')]);
    }
  }

  async writeNginxConf() {
    const text = await nginxConf({
      port: this.port, runDir: this.dir, staticDir: this.staticDir,
      prefix: this.prefix, offline: this.options.model === 'offline',
      connections: this.options.connections,
    });
    const change = this.options.nginx ?? ((same) => same);
    await writeFile(path.join(this.dir, 'nginx.conf'), change(text));
  }

  async start() {
    await this.prepare();
    await this.writeNginxConf();
    for (const name of this.commands.keys()) {
      this.launch(name);
    }
    await this.ready();
  }

  /** Start a part, with further variables, by a command that stands before it. */
  launch(name, variables, before) {
    const old = this.parts.get(name);
    if (old) {
      this.past.push(old);
    }
    this.parts.set(name, this.commands.get(name)(variables, before));
  }

  part(name) {
    const program = this.parts.get(name);
    if (!program) {
      throw new Error(`there is no part ${name}`);
    }
    return program;
  }

  /**
   * Wait until nginx has its port: until it is written in the file that tells
   * of it, whoever else listens there would be asked instead.
   */
  async nginxListens() {
    const nginx = this.part('nginx');
    await eventually(async () => {
      this.guard();
      return nginx.exit !== null ||
        Number(await readFile(path.join(this.dir, 'nginx.pid'), 'utf8')) === nginx.pid;
    }, { what: `nginx listens on ${this.port}` });
  }

  /** Wait until all sockets are open and health is as it should be. */
  async ready() {
    await this.nginxListens();
    const sockets = [...this.parts.values()]
      .filter((program) => /^(responder-|offline)/.test(program.name) && program.exit === null)
      .map((program) => path.join(this.dir, `${program.name}.sock`));
    for (const socket of sockets) {
      await eventually(() => {
        this.guard();
        return listening(socket);
      }, { what: `somebody listens on ${socket}` });
    }
    if (sockets.length === 0) {
      return;
    }
    await eventually(async () => {
      this.guard();
      const reply = await this.api('GET', '/health');
      return reply.status === 200 &&
        (this.options.runtime === false || reply.json.runtime === 'ok');
    }, { what: 'health is ok' });
  }

  /** Throw if something went wrong that no test may overlook. */
  guard() {
    const found = this.faults();
    if (found.length > 0) {
      throw Object.assign(new Error(`${found.join('\n')}\n${this.tails()}`), { fatal: true });
    }
  }

  faults() {
    return [
      ...[...this.past, ...this.parts.values()].flatMap((program) => program.faults()),
      ...(this.options.model?.faults ?? []),
    ];
  }

  tails(lines = 30) {
    return [...this.parts.values()]
      .map((program) => `--- ${program.name}\n${program.tail(lines)}`).join('\n');
  }

  /**
   * One call of the API. path is below /api/v1, or absolute if it begins with
   * the prefix and /api/. POST carries a fresh Idempotency-Key unless key is
   * given; key: null leaves it out. A string or Buffer body is sent as it is.
   */
  api(method, where, body, { key, headers = {}, ms, signal } = {}) {
    const all = {};
    if (body !== undefined) {
      all['content-type'] = 'application/json';
    }
    if (method === 'POST' && key !== null) {
      all['idempotency-key'] = key ?? randomUUID();
    }
    const raw = body === undefined || typeof body === 'string' || Buffer.isBuffer(body);
    const full = where.startsWith(`${this.prefix}/api/`) ? where : this.base + where;
    return request(this.port, method, full, {
      headers: { ...all, ...headers }, body: raw ? body : JSON.stringify(body), ms, signal,
    }).then((reply) => {
      if (reply.status === 502) {
        reply.text += `\n${this.tails()}`; // nginx tells why
      }
      return reply;
    });
  }

  /** A follower of the feed of its own: other headers, another cursor. */
  feed({ headers = {}, after = 0 } = {}) {
    return new Feed({ port: this.port, base: this.base, headers, after });
  }

  /** Feed.until on this Aside's own follower; fails early if a part died. */
  async until(predicate, options = {}) {
    this.ownFeed ??= this.feed();
    try {
      return await this.ownFeed.until(predicate, { guard: () => this.guard(), ...options });
    } catch (error) {
      if (!error.fatal) {
        error.message += `\n${this.tails()}`;
      }
      throw error;
    }
  }

  /** What the follower of `until` has seen so far. */
  get state() {
    this.ownFeed ??= this.feed();
    return this.ownFeed.state;
  }

  /** Signal a part and wait until it is gone. */
  kill(name, signal = 'SIGKILL') {
    return this.part(name).kill(signal);
  }

  /** Start a part again; one that runs is ended in order first. */
  async restart(name) {
    const program = this.part(name);
    if (program.exit === null) {
      await program.stop();
    }
    this.launch(name);
    await this.ready();
  }

  /** End everything and remove the folder. Throws on what was faulty. */
  async stop({ keep = false } = {}) {
    if (this.stopped) {
      return;
    }
    this.stopped = true;
    const order = ['asided', 'responder-1', 'responder-2', 'offline', 'nginx'];
    for (const name of [...new Set([...order, ...this.parts.keys()])]) {
      const program = this.parts.get(name);
      if (program && program.exit === null) {
        await program.stop();
      }
    }
    const found = this.faults();
    if (this.ownDir && !keep) {
      await rm(this.dir, { recursive: true, force: true });
    }
    if (found.length > 0) {
      throw new Error(`${found.join('\n')}\n${this.tails()}`);
    }
  }
}

/**
 * Start an Aside and wait until it answers.
 * @param {object} [options]
 * @param {import('node:test').TestContext} [options.t] stops it when the test ends
 * @param {'offline'|{url: string}} [options.model] a ScriptedModel, or the
 *   offline model; without it no endpoint listens
 * @param {object} [options.conf] configuration keys: {'short.limit': 1}
 * @param {object} [options.env] further environment variables
 * @param {number} [options.responders] 2; 0 starts nginx and runtime alone
 * @param {boolean} [options.runtime] false leaves asided out
 * @param {boolean} [options.san] false takes the release build
 * @param {boolean} [options.spawnFcgi] responders get descriptor 0
 * @param {number} [options.connections] of nginx; 4000
 * @param {(conf: string) => string} [options.nginx] changes its configuration
 * @param {string} [options.library] a folder of documents; else an empty one
 * @param {string} [options.static] the page's folder; else one with index.html
 * @param {string} [options.dir] a folder to keep; else a temporary one
 * @param {number} [options.port] to try first
 * @param {object} [options.programs] paths by name, instead of the built ones
 */
export async function startAside(options = {}) {
  for (let attempt = 1; ; attempt++) {
    const aside = new Aside(attempt === 1 ? options : { ...options, port: undefined });
    try {
      await aside.start();
    } catch (error) {
      const taken = /Address already in use/.test(aside.parts.get('nginx')?.log ?? '');
      await aside.stop().catch(() => {});
      if (taken && attempt < TRIES) {
        continue;
      }
      throw error;
    }
    options.t?.after(() => aside.stop());
    return aside;
  }
}

/** Is this program built? Tests of what does not exist yet skip themselves. */
export function built(name, san = true) {
  return existsSync(bin(name, san));
}
