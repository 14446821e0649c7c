// load.mjs - a whole Aside, of programs built or started in another way, under
// everything at once: writers, readers, held polls, uploads and clients that
// hang up; and in the middle of it the responder is told to end.

import assert from 'node:assert/strict';
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';

import { startAside } from '../support/harness.mjs';
import { ScriptedModel } from '../support/scripted-model.mjs';

/** Whatever comes of it: the other side may be ending. */
const quietly = (promise) => promise.then((reply) => reply.status, () => 0);

/** A folder of scripts that start the programs behind a command. */
async function scripts(t, folder, command) {
  const dir = await mkdtemp(path.join(os.tmpdir(), 'aside-strict-'));
  t.after(() => rm(dir, { recursive: true, force: true }));
  const programs = {};
  for (const name of ['aside.fcgi', 'asided']) {
    programs[name] = path.join(dir, name);
    await writeFile(programs[name],
      `#!/bin/sh\nexec ${command} ${path.join(folder, name)} "$@"\n`);
    await chmod(programs[name], 0o755);
  }
  return programs;
}

/** One client: what a person does with a conversation, again and again. */
async function write(aside, n, rounds) {
  const { json } = await aside.api('POST', '/conversations', { title: `talk ${n}` });
  const { id } = json.conversation;
  for (let round = 0; round < rounds; round++) {
    const sent = await aside.api('POST', `/conversations/${id}/messages`, {
      body: `question ${round}`, ...(round % 4 === 0 ? { mode: 'background' } : {}),
    });
    assert.ok([200, 202, 409, 429, 503].includes(sent.status), sent.text);
    if (sent.json.run) {
      await aside.api('POST', `/runs/${sent.json.run.id}/adjustments`, { body: 'more' });
      await aside.api('POST', `/runs/${sent.json.run.id}/stop`, {});
    }
    await Promise.all([
      aside.api('GET', `/conversations/${id}`),
      aside.api('GET', '/overview'),
      aside.api('GET', `/search?q=question+${round}`),
      aside.api('PATCH', `/conversations/${id}`, { title: `talk ${n} ${round}` }),
      aside.api('PUT', `/library/files/talk/${n}.md`, Buffer.from(`# ${round}\n\nwords\n`)),
      aside.api('GET', '/changes?after=0'),
    ]);
  }
}

/**
 * One client that waits for news, and hangs up every other time: not always, or on
 * a busy machine it would ask for the same news again and again.
 */
async function poll(aside, ms, done) {
  let after = 0;
  for (let n = 0; !done(); n++) {
    const hangUp = new AbortController();
    const timer = n % 2 === 1 ? setTimeout(() => hangUp.abort(), ms) : undefined;
    await aside.api('GET', `/changes?after=${after}&wait=1`, undefined, { signal: hangUp.signal })
      .then((reply) => { after = reply.json?.next ?? after; }, () => {});
    clearTimeout(timer);
  }
}

/**
 * @param {import('node:test').TestContext} t
 * @param {{folder: string, command: string, clients: number, rounds: number,
 *          env?: object}} options
 * @returns the two programs, which have ended as they should
 */
export async function load(t, { folder, command, clients, rounds, env = {} }) {
  const model = await ScriptedModel.start();
  t.after(() => model.stop());
  const aside = await startAside({
    t, model, env, responders: 1, programs: await scripts(t, folder, command),
    conf: { 'short.limit': 8, 'background.limit': 2, 'log.level': 'info' },
  });
  let over = false;
  t.after(() => { over = true; }); // however it ends
  const polls = Array.from({ length: clients },
    (_, n) => poll(aside, 50 + 70 * n, () => over));
  await Promise.all(Array.from({ length: clients }, (_, n) => write(aside, n, rounds)));
  // The end comes while polls are held and writes are under way.
  const late = Array.from({ length: 3 * clients }, (_, n) => (n % 3 === 0
    ? quietly(aside.api('GET', '/changes?after=9000000&wait=20'))
    : quietly(aside.api('POST', '/conversations', { title: `late ${n}` }))));
  await Promise.race(late.slice(1));
  const responder = aside.part('responder-1');
  await responder.stop('SIGTERM', 60000);
  over = true;
  await Promise.all([...late, ...polls]);
  const runtime = aside.part('asided');
  await runtime.stop('SIGTERM', 60000);
  await aside.stop();
  return [responder, runtime];
}
