// stage.mjs - an Aside to measure: release build, nginx as `make run` sets it
// up, everything on loopback, in folders of its own, ended whatever happens.
//
// What differs from the shipped nginx configuration: REMOTE_USER comes from the
// header X-Bench-User, so that one client can be many accounts; there may be one
// responder only; limits of descriptors fit thousands of polls, all of which may
// be one account's; connections are kept for any number of requests. A second server of the same nginx hands the
// same requests to hello.c.

import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readFile, readdir, rm, writeFile } from 'node:fs/promises';
import net from 'node:net';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';

import {
  PATH_WITH_SBIN, ROOT, bin, eventually, freePort, nginxConf, temporaryDir,
} from '../support/harness.mjs';
import { request } from '../support/http.mjs';
import { Program } from '../support/process.mjs';

export const OUT = path.join(ROOT, 'var/bench');
const FILES = 19000;
// A profiler, say: BENCH_WRAP='valgrind --tool=callgrind' before the responder.
const WRAP = process.env.BENCH_WRAP?.split(' ') ?? [];

const run = promisify(execFile);

function environment(data, conf) {
  const env = Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !name.startsWith('ASIDE_')));
  for (const [key, value] of Object.entries({ data, ...conf })) {
    env[`ASIDE_${key.toUpperCase().replaceAll('.', '_')}`] = String(value);
  }
  return env;
}

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

/** One server block more: the same locations, handed to hello.c. */
function withHello(conf, port, helloPort, socket) {
  const from = conf.indexOf('    server {\n');
  const to = conf.lastIndexOf('    }\n') + '    }\n'.length;
  const server = conf.slice(from, to)
    .replaceAll(`:${port};`, `:${helloPort};`)
    .replaceAll('fastcgi_pass aside;', 'fastcgi_pass hello;');
  return `${conf.slice(0, from)}` +
    `    upstream hello { server "unix:${socket}" max_fails=0; }\n` +
    `${conf.slice(from, to)}${server}${conf.slice(to)}`;
}

export class Stage {
  /**
   * @param {{conf?: object, responders?: number, runtime?: boolean,
   *          threads?: number}} options threads: of hello; 0 leaves it out
   */
  static async start(options = {}) {
    const stage = new Stage();
    try {
      await stage.prepare(options);
      await stage.launch(options);
    } catch (error) {
      error.message += `\n${stage.tails()}`;
      await stage.stop().catch(() => {});
      throw error;
    }
    return stage;
  }

  async prepare({ conf = {} }) {
    this.programs = new Map();
    await mkdir(OUT, { recursive: true });
    // Sockets want a short path; the database wants the disk that var/ is on.
    this.dir = await temporaryDir();
    this.data = await mkdtemp(path.join(process.env.BENCH_DATA ?? OUT, 'data-'));
    this.port = await freePort();
    this.helloPort = await freePort();
    this.conf = {
      auth: 'proxy', 'short.limit': 1000, 'limit.account_per_minute': 0, 'poll.max_per_account': 0, ...conf,
    };
    this.env = environment(this.data, this.conf);
  }

  async launch({ responders = 1, runtime = false, threads = 0 }) {
    for (let n = 1; n <= responders; n++) {
      this.add(`responder-${n}`,
        [...WRAP, bin('aside.fcgi', false), '-s', path.join(this.dir, `responder-${n}.sock`)]);
    }
    if (threads > 0) {
      this.add('hello', [bin('bench/hello', false), path.join(this.dir, 'hello.sock'),
        String(threads)]);
    }
    await writeFile(path.join(this.dir, 'nginx.conf'), await this.nginx(responders, threads > 0));
    this.add('nginx', ['nginx', '-e', 'stderr', '-p', this.dir,
      '-c', path.join(this.dir, 'nginx.conf')], 'TERM');
    if (runtime) {
      this.add('asided', [bin('asided', false)]);
    }
    await this.ready(runtime);
  }

  async nginx(responders, hello) {
    const shipped = await nginxConf({
      port: this.port, runDir: this.dir, staticDir: this.dir,
    });
    const lines = shipped
      .replace(/worker_rlimit_nofile \d+/, `worker_rlimit_nofile ${FILES}`)
      .replace(/worker_connections \d+/, `worker_connections ${FILES - 100}`)
      .replace('access_log off;', 'access_log off;\n    keepalive_requests 100000000;')
      .replaceAll('fastcgi_param HTTP_HOST $http_host;',
        'fastcgi_param HTTP_HOST $http_host;\n' +
        '        fastcgi_param REMOTE_USER $http_x_bench_user;')
      .split('\n')
      .filter((line) => responders > 1 || !line.includes('responder-2.sock'))
      .join('\n');
    return hello
      ? withHello(lines, this.port, this.helloPort, path.join(this.dir, 'hello.sock'))
      : lines;
  }

  add(name, command, orphanSignal) {
    this.programs.set(name, new Program(name, command, {
      env: { ...this.env, PATH: PATH_WITH_SBIN }, orphanSignal,
    }));
  }

  pid(name) {
    return this.programs.get(name).pid;
  }

  /** The process of a part that does the work: of nginx, the worker. */
  async workerOf(name) {
    const pid = this.pid(name);
    const text = await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8');
    const [child] = text.trim().split(' ');
    return child ? Number(child) : pid;
  }

  async ready(runtime) {
    for (const name of this.programs.keys()) {
      if (/^(responder|hello)/.test(name)) {
        await eventually(() => listening(path.join(this.dir, `${name}.sock`)),
          { what: `${name} listens` });
      }
    }
    await eventually(async () => {
      this.guard();
      const reply = await request(this.port, 'GET', '/api/v1/health');
      return reply.status === 200 && (!runtime || reply.json.runtime === 'ok');
    }, { what: 'health is ok' });
  }

  /** Throw if a program has ended by itself. */
  guard() {
    const faults = [...this.programs.values()].flatMap((program) => program.faults());
    if (faults.length > 0) {
      throw Object.assign(new Error(`${faults.join('\n')}\n${this.tails()}`), { fatal: true });
    }
  }

  tails() {
    return [...(this.programs?.values() ?? [])]
      .map((program) => `--- ${program.name}\n${program.tail(15)}`).join('\n');
  }

  /** How many rows of a table there are. */
  async count(from) {
    const { stdout } = await run('sqlite3', [
      '-readonly', '-cmd', '.timeout 5000', path.join(this.data, 'aside.db'),
      `SELECT count(*) FROM ${from}`]);
    return Number(stdout);
  }

  async stop() {
    for (const name of [...this.programs.keys()].reverse()) {
      const program = this.programs.get(name);
      if (program.exit === null) {
        await (name === 'hello' ? program.kill() : program.stop());
      }
    }
    await rm(this.dir, { recursive: true, force: true });
    await rm(this.data, { recursive: true, force: true });
  }
}

/** A measuring program that answers each line with a line of JSON. */
export class Tool {
  constructor(name, args) {
    this.program = new Program(name, [bin(`bench/${name}`, false), ...args.map(String)],
      { stdin: 'pipe' });
    this.lines = createInterface({ input: this.program.child.stdout })[Symbol.asyncIterator]();
  }

  async answer() {
    const { value, done } = await this.lines.next();
    if (done) {
      throw new Error(`${this.program.name} ended: ${this.program.tail()}`);
    }
    return JSON.parse(value);
  }

  tell(line) {
    this.program.child.stdin.write(`${line}\n`);
  }

  ask(line) {
    this.tell(line);
    return this.answer();
  }

  async end() {
    this.program.expected = true;
    this.program.child.stdin.end();
    const timer = setTimeout(() => this.program.signalGroup('SIGKILL'), 10000);
    await this.program.ended;
    clearTimeout(timer);
  }
}

/** RSS, PSS and private memory of a process, in KiB. */
export async function memoryOf(pid) {
  const text = await readFile(`/proc/${pid}/smaps_rollup`, 'utf8');
  const value = (name) => Number(text.match(new RegExp(`^${name}: +(\\d+) kB`, 'm'))[1]);
  return {
    rss: value('Rss'), pss: value('Pss'),
    own: value('Private_Clean') + value('Private_Dirty'),
  };
}

/** Clock ticks a process has used, and how often its threads went to sleep. */
export async function workOf(pid) {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  let switches = 0;
  for (const thread of await readdir(`/proc/${pid}/task`)) {
    const status = await readFile(`/proc/${pid}/task/${thread}/status`, 'utf8');
    switches += Number(status.match(/^voluntary_ctxt_switches:\s+(\d+)/m)[1]);
  }
  return { ticks: Number(fields[11]) + Number(fields[12]), switches };
}
