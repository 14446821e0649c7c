#!/usr/bin/env node
// fake-responder.mjs - just enough FastCGI to stand for a responder in tests of
// nginx and the supervisor: -s path, SIGTERM ends it.
//
// GET .../health answers { status: "ok", runtime: "ok" }. /api/v1/echo answers
// what arrived, as JSON. /api/v1/silence never answers; /api/v1/die ends this
// process in the middle of the request.

import fs from 'node:fs';
import net from 'node:net';

const RUNTIME = process.env.ASIDE_TEST_HEALTH_RUNTIME ?? 'ok';
const [BEGIN, , END, PARAMS, STDIN, STDOUT] = [1, 2, 3, 4, 5, 6];
const HEADER = 8;
const LONGEST = 65535; // content of one record

function record(type, id, content) {
  const head = Buffer.from([1, type, id >> 8, id & 255,
    content.length >> 8, content.length & 255, 0, 0]);
  return Buffer.concat([head, content]);
}

function pairs(bytes) {
  const found = {};
  let at = 0;
  const length = () => {
    if (bytes[at] < 128) {
      return bytes[at++];
    }
    at += 4;
    return bytes.readUInt32BE(at - 4) & 0x7fffffff;
  };
  while (at < bytes.length) {
    const name = length();
    const value = length();
    found[bytes.toString('utf8', at, at + name)] =
      bytes.toString('utf8', at + name, at + name + value);
    at += name + value;
  }
  return found;
}

function answer(socket, id, status, body) {
  const text = `Status: ${status}\r\nContent-Type: application/json\r\n\r\n${JSON.stringify(body)}`;
  const bytes = Buffer.from(text);
  const records = [];
  for (let at = 0; at < bytes.length; at += LONGEST) {
    records.push(record(STDOUT, id, bytes.subarray(at, at + LONGEST)));
  }
  socket.end(Buffer.concat([
    ...records, record(STDOUT, id, Buffer.alloc(0)), record(END, id, Buffer.alloc(8))]));
}

function handle(socket, id, params, body) {
  const path = params.REQUEST_URI.split('?')[0];
  if (path.endsWith('/health')) {
    answer(socket, id, 200, { status: 'ok', runtime: RUNTIME, pid: process.pid });
  } else if (path.endsWith('/die')) {
    process.exit(3);
  } else if (!path.endsWith('/silence')) {
    answer(socket, id, 200, { pid: process.pid, params, body: body.toString('utf8') });
  }
}

function serve(socket) {
  let bytes = Buffer.alloc(0);
  let params = Buffer.alloc(0);
  let body = Buffer.alloc(0);
  let id = 0;
  socket.on('error', () => {});
  socket.on('close', () => console.error('a peer is gone'));
  socket.on('data', (chunk) => {
    bytes = Buffer.concat([bytes, chunk]);
    while (bytes.length >= HEADER) {
      const length = bytes.readUInt16BE(4);
      const whole = HEADER + length + bytes[6];
      if (bytes.length < whole) {
        return;
      }
      const content = bytes.subarray(HEADER, HEADER + length);
      if (bytes[1] === BEGIN) {
        id = bytes.readUInt16BE(2);
      } else if (bytes[1] === PARAMS) {
        params = Buffer.concat([params, content]);
      } else if (bytes[1] === STDIN && length > 0) {
        body = Buffer.concat([body, content]);
      } else if (bytes[1] === STDIN) {
        handle(socket, id, pairs(params), body);
      }
      bytes = bytes.subarray(whole);
    }
  });
}

const path = process.argv[process.argv.indexOf('-s') + 1];
fs.rmSync(path, { force: true });
net.createServer(serve).listen(path, () => console.error(`listening on ${path}`));
process.on('SIGTERM', () => {
  console.error('responder ends');
  fs.rmSync(path, { force: true });
  process.exit(0);
});
