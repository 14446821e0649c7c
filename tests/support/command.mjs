// command.mjs - the command line `aside`, run to its end on the data of an Aside.

import { execFile } from 'node:child_process';

import { bin } from './harness.mjs';

/**
 * @param {{env: object, options?: {san?: boolean}}} aside
 * @param {...string} args
 * @returns {Promise<{code: number, out: string, err: string, json: any}>}
 */
export function command(aside, ...args) {
  return new Promise((resolve, reject) => {
    const options = { env: aside.env, timeout: 60000, maxBuffer: 64 << 20 };
    execFile(bin('aside', aside.options?.san ?? true), args, options, (error, out, err) => {
      if (error && typeof error.code !== 'number') {
        reject(error);
        return;
      }
      if (/Sanitizer|runtime error: /.test(err)) {
        reject(new Error(err));
        return;
      }
      let json;
      try {
        json = JSON.parse(out);
      } catch { /* lines for a person */ }
      resolve({ code: error ? error.code : 0, out, err, json });
    });
  });
}

/** The same, which must be done; its JSON if it gave one. */
export async function done(aside, ...args) {
  const r = await command(aside, ...args);
  if (r.code !== 0) {
    throw new Error(`aside ${args.join(' ')}: ${r.code}: ${r.err}${r.out}`);
  }
  return r.json ?? r.out;
}
