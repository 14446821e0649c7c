// http.mjs - one HTTP request, with everything about it in the test's hand.

import http from 'node:http';

/** What `make jitter` makes the programs late with; the tests' own ends are late too. */
export const { JITTER } = process.env;
const LATE_MS = 250;

const late = () => (JITTER && Math.random() < 0.3
  ? new Promise((resolve) => setTimeout(resolve, Math.random() * LATE_MS)) : null);

/**
 * @param {number} port on 127.0.0.1
 * @param {string} method
 * @param {string} path
 * @param {{headers?: object, body?: string|Buffer, ms?: number,
 *          signal?: AbortSignal}} [options]
 * @returns {Promise<{status: number, headers: object, text: string,
 *                    json: any}>} json is undefined if the body is none
 */
export function request(port, method, path, { headers = {}, body, ms = 70000, signal } = {}) {
  return new Promise((resolve, reject) => {
    const req = http.request({
      host: '127.0.0.1', port, method, path, agent: false, signal,
      headers: body === undefined
        ? headers
        : { 'content-length': Buffer.byteLength(body), ...headers },
    });
    const timer = setTimeout(
      () => req.destroy(new Error(`nothing in ${ms} ms`)), ms);
    const fail = (error) => {
      clearTimeout(timer);
      error.message = `${method} ${path}: ${error.message}`;
      reject(error);
    };
    req.on('error', fail);
    req.on('response', (res) => {
      const chunks = [];
      res.on('data', (chunk) => chunks.push(chunk));
      res.on('error', fail);
      res.on('end', async () => {
        clearTimeout(timer);
        await late();
        const text = Buffer.concat(chunks).toString('utf8');
        resolve({
          status: res.statusCode, headers: res.headers, text, json: parse(text),
        });
      });
    });
    req.end(body);
  });
}

/**
 * All that is sent to a server of a test.
 * @param {import('node:http').IncomingMessage} req
 * @returns {Promise<Buffer|null>} null if the sender left before its end, as
 *     whoever is stopped or killed may
 */
export async function bodyOf(req) {
  const chunks = [];
  try {
    for await (const chunk of req) {
      chunks.push(chunk);
    }
  } catch {
    return null;
  }
  await late();
  return Buffer.concat(chunks);
}

function parse(text) {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
