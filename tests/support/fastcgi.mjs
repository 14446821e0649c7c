// fastcgi.mjs - the web server's side of FastCGI, record by record, for peers that
// send what no web server would.

import net from 'node:net';

/** One record; len and version may lie. */
export function record(type, id, content = '', { version = 1, pad = 0, len } = {}) {
  const body = Buffer.from(content);
  const said = len ?? body.length;
  return Buffer.concat([
    Buffer.from([version, type, id >> 8, id & 255, (said >> 8) & 255, said & 255, pad, 0]),
    body, Buffer.alloc(pad)]);
}

export const BEGIN = 1;
export const ABORT = 2;
export const PARAMS = 4;
export const STDIN = 5;
export const GET_VALUES = 9;

export const begin = (id = 1, role = 1, flags = 0) => record(BEGIN, id, [0, role, flags, 0, 0, 0, 0, 0]);

const length = (n) => Buffer.from(n < 128 ? [n] : [0x80 | (n >>> 24), (n >> 16) & 255, (n >> 8) & 255, n & 255]);

/** Names and values as FastCGI writes them. */
export const pairs = (values) => Buffer.concat(Object.entries(values).flatMap(([name, value]) => [
  length(Buffer.byteLength(name)), length(Buffer.byteLength(value)), Buffer.from(name), Buffer.from(value)]));

export const LOCAL = {
  REQUEST_METHOD: 'GET', REQUEST_URI: '/api/v1/health', QUERY_STRING: '',
  REMOTE_ADDR: '127.0.0.1', SERVER_ADDR: '127.0.0.1', HTTP_HOST: 'localhost',
};

/** The records of all variables, and their end. */
export const params = (values = {}, id = 1) => Buffer.concat([
  record(PARAMS, id, pairs({ ...LOCAL, ...values })), record(PARAMS, id)]);

/**
 * Send pieces to a socket, calling between(n) after the n-th; resolves to the
 * status that came back, or to 'nothing'.
 */
export function converse(socket, pieces, between = async () => {}) {
  return new Promise((resolve) => {
    const peer = net.connect(socket);
    let text = '';
    peer.setEncoding('latin1').on('data', (chunk) => { text += chunk; });
    peer.on('error', () => {});
    peer.on('close', () => resolve(text.match(/Status: (\d+)/)?.[1] ?? 'nothing'));
    peer.on('connect', async () => {
      for (const [n, piece] of pieces.entries()) {
        await new Promise((sent) => peer.write(piece, sent));
        await between(n);
      }
    });
  });
}
