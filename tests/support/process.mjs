// process.mjs - programs under test: started in a group of their own, watched,
// and ended whatever becomes of the test.
//
// A program dies with the test process: by `stop`, by the handlers below when
// the test ends or is interrupted, or, if the test process is killed, by the
// kernel (setpriv --pdeathsig). Only groups started here are ever signalled.

import { spawn } from 'node:child_process';
import { once } from 'node:events';

import { PATIENCE_MS } from './patience.mjs';

const alive = new Set();

function killAll() {
  for (const program of alive) {
    program.signalGroup('SIGKILL');
  }
}

process.on('exit', killAll);
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
  process.once(signal, () => {
    killAll();
    process.kill(process.pid, signal);
  });
}

const LOG_LIMIT = 4 * 1024 * 1024;
const SANITIZER =
  /ERROR: (Address|Leak|Memory|Thread)Sanitizer|SUMMARY: \w+Sanitizer|runtime error: /;

export class Program {
  /**
   * @param {string} name as it appears in messages
   * @param {string[]} command program and arguments
   * @param {{env?: object, cwd?: string, orphanSignal?: string,
   *          stdin?: 'ignore'|'pipe'}} [options]
   */
  constructor(name, command, {
    env = process.env, cwd, orphanSignal = 'KILL', stdin = 'ignore',
  } = {}) {
    this.name = name;
    this.log = '';
    this.out = '';
    this.exit = null; // {code, signal} once it has ended
    this.expected = false; // its end was asked for
    this.badEnd = ''; // what was wrong with it then
    this.child = spawn(
      'setpriv', ['--pdeathsig', orphanSignal, '--', ...command],
      { env, cwd, detached: true, stdio: [stdin, 'pipe', 'pipe'] });
    this.pid = this.child.pid;
    alive.add(this);
    this.listeners = new Set();
    const keep = (chunk) => {
      this.log = (this.log + chunk).slice(-LOG_LIMIT);
      for (const listener of this.listeners) {
        listener();
      }
    };
    this.child.stderr.setEncoding('utf8').on('data', keep);
    this.child.stdout.setEncoding('utf8').on('data', (chunk) => {
      this.out += chunk;
      keep(chunk);
    });
    this.ended = this.untilEnded();
    this.ended.catch(() => {}); // a failed spawn shows as a missing part
  }

  async untilEnded() {
    const closed = once(this.child, 'close');
    const [code, signal] = await once(this.child, 'exit');
    // Somebody who outlived it may hold its pipes; what it wrote is in them.
    const timer = setTimeout(() => {
      this.child.stdout.destroy();
      this.child.stderr.destroy();
    }, 1000);
    await closed;
    clearTimeout(timer);
    this.exit = { code, signal };
    alive.delete(this);
    for (const listener of this.listeners) {
      listener();
    }
    return this.exit;
  }

  signal(signal) {
    if (this.exit === null) {
      try {
        process.kill(this.pid, signal);
      } catch { /* it is just ending */ }
    }
  }

  signalGroup(signal) {
    try {
      process.kill(-this.pid, signal);
    } catch { /* nobody is left */ }
  }

  /** Wait until the log holds text that matches; resolves to the match. */
  logged(pattern, ms = PATIENCE_MS) {
    const look = () => this.log.match(pattern);
    return new Promise((resolve, reject) => {
      const finish = (settle, value) => {
        clearTimeout(timer);
        this.listeners.delete(check);
        settle(value);
      };
      const check = () => {
        const match = look();
        if (match) {
          finish(resolve, match);
        } else if (this.exit !== null) {
          finish(reject, new Error(
            `${this.name} ended before it logged ${pattern}:\n${this.tail()}`));
        }
      };
      const timer = setTimeout(() => finish(reject, new Error(
        `${this.name} did not log ${pattern} in ${ms} ms:\n${this.tail()}`)), ms);
      this.listeners.add(check);
      check();
    });
  }

  /** End it in an orderly way; killed after ms, which counts as a fault. */
  async stop(signal = 'SIGTERM', ms = 12000) {
    this.expected = true;
    let late = false;
    this.signal(signal);
    const timer = setTimeout(() => {
      late = true;
      this.signalGroup('SIGKILL');
    }, ms);
    const exit = await this.ended;
    clearTimeout(timer);
    this.signalGroup('SIGKILL'); // children that outlived it
    if (late) {
      this.badEnd = `did not end within ${ms} ms of ${signal}`;
    } else if (exit.code !== 0) {
      this.badEnd = `ended with ${JSON.stringify(exit)} after ${signal}`;
    }
    return exit;
  }

  /** End it at once; resolves when it is gone. */
  async kill(signal = 'SIGKILL') {
    this.expected = true;
    this.signal(signal);
    const exit = await this.ended;
    this.signalGroup('SIGKILL');
    return exit;
  }

  tail(lines = 40) {
    return this.log.split('\n').slice(-lines).join('\n');
  }

  /** What a test must not pass over, one phrase each. */
  faults() {
    const found = [];
    if (SANITIZER.test(this.log)) {
      found.push(`${this.name}: a sanitizer complained`);
    }
    if (this.exit !== null && !this.expected) {
      found.push(`${this.name} ended by itself (${JSON.stringify(this.exit)})`);
    }
    if (this.badEnd) {
      found.push(`${this.name} ${this.badEnd}`);
    }
    return found;
  }
}
