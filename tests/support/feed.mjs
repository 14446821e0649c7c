// feed.mjs - follows GET changes and folds it into a small state, so that tests
// wait for what happens instead of for time to pass.

import { request } from './http.mjs';
import { PATIENCE_MS } from './patience.mjs';

const POLL_S = 10;

/** What the changes so far amount to. Keys are ids. */
export class State {
  constructor() {
    this.changes = []; // every change, in order of seq
    this.runs = new Map();
    this.messages = new Map();
    this.handoffs = new Map();
    this.requests = new Map();
    this.toolCalls = new Map();
    this.sources = new Map();
    this.conversations = new Map();
    this.notifications = new Map();
    this.answers = new Map(); // run id -> {revision, part, text}
    this.parts = []; // {run_id, revision, part, text} as they came
  }

  take(change) {
    this.changes.push(change);
    const keep = (map, thing) => thing && map.set(thing.id, thing);
    keep(this.runs, change.run);
    keep(this.messages, change.message);
    keep(this.handoffs, change.handoff);
    keep(this.requests, change.request);
    keep(this.toolCalls, change.tool_call);
    keep(this.sources, change.source);
    keep(this.conversations, change.conversation);
    keep(this.notifications, change.notification);
    if (change.kind === 'answer.part') {
      this.takePart(change);
    }
  }

  takePart({ run_id, revision, part, text }) {
    const last = this.answers.get(run_id);
    this.parts.push({ run_id, revision, part, text });
    if (!last || revision > last.revision) {
      this.answers.set(run_id, { revision, part, text });
    } else if (revision === last.revision && part > last.part) {
      this.answers.set(run_id, { revision, part, text: last.text + text });
    }
  }

  /** The text of a Run's newest revision so far. */
  answer(runId) {
    return this.answers.get(runId)?.text ?? '';
  }

  /** A line per thing, for the message of a wait that failed. */
  summary() {
    const lines = [`${this.changes.length} changes`];
    for (const run of this.runs.values()) {
      lines.push(`${run.id} ${run.kind} ${run.state} ${run.phase} ${run.reason ?? ''}` +
        ` answer=${JSON.stringify(this.answer(run.id).slice(-80))}`);
    }
    for (const handoff of this.handoffs.values()) {
      lines.push(`${handoff.id} ${handoff.kind} ${handoff.state} ${handoff.reason ?? ''}`);
    }
    for (const req of this.requests.values()) {
      lines.push(`${req.id} of ${req.run_id} ${req.purpose} ${req.state} ${req.cause ?? ''}`);
    }
    return lines.join('\n');
  }
}

export class Feed {
  /** @param {{port: number, base: string, headers?: object, after?: number}} at */
  constructor({ port, base, headers = {}, after = 0 }) {
    this.port = port;
    this.base = base;
    this.headers = headers;
    this.cursor = after;
    this.state = new State();
    this.resets = 0;
  }

  /** One poll of at most wait seconds; its changes are folded in. */
  async poll(wait = 0) {
    const reply = await request(
      this.port, 'GET', `${this.base}/changes?after=${this.cursor}&wait=${wait}`,
      { headers: this.headers, ms: (wait + 15) * 1000 });
    if (reply.status !== 200) {
      throw new Error(`GET changes: ${reply.status} ${reply.text}`);
    }
    this.resets += reply.json.reset ? 1 : 0;
    this.cursor = reply.json.next;
    for (const change of reply.json.changes) {
      this.state.take(change);
    }
    return reply.json;
  }

  /**
   * Wait until predicate(state) is true; resolves to its value. It is asked
   * first with what is known already, then after every poll. Throws after ms,
   * with what was seen, or at once when guard() throws.
   */
  async until(predicate, { ms = PATIENCE_MS, what = predicate.toString(), guard = () => {} } = {}) {
    const deadline = Date.now() + ms;
    for (;;) {
      const value = predicate(this.state);
      if (value) {
        return value;
      }
      guard();
      const left = deadline - Date.now();
      if (left <= 0) {
        throw new Error(`not within ${ms} ms: ${what}\n${this.state.summary()}`);
      }
      await this.poll(Math.min(POLL_S, Math.max(1, Math.ceil(left / 1000))));
    }
  }
}
