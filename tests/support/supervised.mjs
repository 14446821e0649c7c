// supervised.mjs - `aside run` as a test sees it: started on a free port in a
// temporary folder, its parts found through /proc.

import { chmod, mkdir, readFile, readdir, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';

import { ROOT, bin, eventually, freePort, temporaryDir } from './harness.mjs';
import { request } from './http.mjs';
import { Program } from './process.mjs';

const standIn = (name) =>
  `#!/bin/sh\nexec node '${path.join(ROOT, 'tests/support', name)}' "$@"\n`;

/** A folder of stand-ins for our programs; others by name: {asided: script}. */
export async function fakePrograms(dir, others = {}) {
  await mkdir(dir, { recursive: true });
  const scripts = {
    'aside.fcgi': standIn('fake-responder.mjs'),
    'aside-offline.fcgi': standIn('fake-responder.mjs'),
    asided: standIn('fake-runtime.mjs'),
    ...others,
  };
  for (const [name, script] of Object.entries(scripts)) {
    await writeFile(path.join(dir, name), script);
    await chmod(path.join(dir, name), 0o755);
  }
  return dir;
}

/** Every process whose parent is pid: {pid, name, group}. */
export async function childrenOf(pid) {
  const found = [];
  for (const entry of await readdir('/proc')) {
    if (/^\d+$/.test(entry)) {
      const stat = await readFile(`/proc/${entry}/stat`, 'utf8').catch(() => '');
      const fields = stat.match(/^(\d+) \((.*)\) (\S) (\d+) (\d+)/);
      if (fields && Number(fields[4]) === pid && fields[3] !== 'Z') {
        found.push({ pid: Number(entry), name: fields[2], group: Number(fields[5]) });
      }
    }
  }
  return found;
}

/** Does this process run? One that ended but was not reaped does not. */
export async function runs(pid) {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '');
  return stat !== '' && !/\) [ZX] /.test(stat);
}

export class Supervised {
  /**
   * @param {{t?: object, fakes?: object, programs?: string, dir?: string,
   *          port?: number, env?: object, args?: string[], san?: boolean,
   *          static?: string}} [options] fakes: as in fakePrograms; programs: a
   *   folder of real ones instead
   */
  static async start(options = {}) {
    const self = new Supervised();
    self.dir = options.dir ?? await temporaryDir();
    self.port = options.port ?? await freePort();
    self.base = await temporaryDir();
    const pages = options.static ?? path.join(self.base, 'static');
    await mkdir(pages, { recursive: true });
    if (!options.static) {
      await writeFile(path.join(pages, 'index.html'), 'the page\n');
    }
    const env = Object.fromEntries(Object.entries(process.env).filter(
      ([name]) => !name.startsWith('ASIDE_') && name !== 'PORT' && name !== 'DATA'));
    self.program = new Program('aside run', [
      bin('aside', options.san), 'run', '-p', String(self.port), '-d', self.dir,
      ...options.args ?? [],
    ], {
      env: {
        ...env, ASIDE_STATIC: pages, ASIDE_LOG_LEVEL: 'debug',
        ASIDE_BIN: options.programs ?? await fakePrograms(path.join(self.base, 'bin'), options.fakes),
        ASAN_OPTIONS: 'exitcode=99', ...options.env,
      },
    });
    options.t?.after(() => self.clean(!options.dir));
    return self;
  }

  ready() {
    return this.program.logged(/Aside is at (\S+)/);
  }

  /** The newest process of a part, by the supervisor's log. */
  pidOf(part) {
    const lines = [...this.program.log.matchAll(
      new RegExp(` ${part} started as process (\\d+)`, 'g'))];
    return Number(lines.at(-1)?.[1]);
  }

  /** Wait until a part has another process than before. */
  replaced(part, before) {
    return eventually(() => this.pidOf(part) !== before && this.pidOf(part),
      { what: `${part} is started again` });
  }

  get(where) {
    return request(this.port, 'GET', where);
  }

  async clean(removeDir) {
    if (this.program.exit === null) {
      await this.program.stop('SIGTERM', 25000);
    }
    await rm(this.base, { recursive: true, force: true });
    if (removeDir) {
      await rm(this.dir, { recursive: true, force: true });
    }
    const faults = this.program.faults().filter((f) => /sanitizer|did not end/.test(f));
    if (faults.length > 0) {
      throw new Error(`${faults.join('\n')}\n${this.program.tail()}`);
    }
  }
}
