-- 0001_first.sql - accounts, conversations, Runs, effects, receipts, the feed.
--
-- Times are Unix milliseconds and end in _ms. States and kinds are the words
-- of docs/states.md, as text, so that the file can be read with any SQLite
-- shell. Shipped migrations are never edited: a change is a new file.
--
-- A CHECK of three or more words is a chain of OR: for IN, SQLite builds a
-- temporary table of the words at each insert and update, which was half the
-- cost of an accepted message. The chain ends where it is true, so null, or the
-- word that is written most, comes first.

-- What this database is. One row.
CREATE TABLE fact (
    id         INTEGER PRIMARY KEY CHECK (id = 1),
    feed       TEXT NOT NULL,    -- id of the feed; new after a restore
    created_ms INTEGER NOT NULL
) STRICT;
INSERT INTO fact (id, feed, created_ms)
VALUES (1, lower(hex(randomblob(8))),
        CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER));

CREATE TABLE account (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    name       TEXT NOT NULL UNIQUE CHECK (length(name) BETWEEN 1 AND 255),
    created_ms INTEGER NOT NULL
) STRICT;

CREATE TABLE conversation (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    account_id INTEGER NOT NULL REFERENCES account (id) ON DELETE CASCADE,
    title      TEXT NOT NULL,     -- '' until named or first written to
    created_ms INTEGER NOT NULL,
    updated_ms INTEGER NOT NULL
) STRICT;
CREATE INDEX conversation_by_account ON conversation (account_id, updated_ms);

-- What the user wrote, verbatim. Never updated.
CREATE TABLE message (
    id              INTEGER PRIMARY KEY AUTOINCREMENT,
    conversation_id INTEGER NOT NULL
                    REFERENCES conversation (id) ON DELETE CASCADE,
    body            TEXT NOT NULL CHECK (length(body) > 0),
    created_ms      INTEGER NOT NULL
) STRICT;
CREATE INDEX message_by_conversation ON message (conversation_id, id);

-- One execution.
CREATE TABLE run (
    id              INTEGER PRIMARY KEY AUTOINCREMENT,
    account_id      INTEGER NOT NULL REFERENCES account (id) ON DELETE CASCADE,
    conversation_id INTEGER NOT NULL
                    REFERENCES conversation (id) ON DELETE CASCADE,
    message_id      INTEGER UNIQUE   -- its source; null: continued without words
                    REFERENCES message (id) ON DELETE CASCADE,
    continues       INTEGER REFERENCES run (id) ON DELETE SET NULL,
    kind            TEXT NOT NULL CHECK (kind IN ('short', 'research')),
    depth           TEXT NOT NULL CHECK (depth IN ('normal', 'deep')),
    missing_info    TEXT NOT NULL
                    CHECK (missing_info = 'ask' OR missing_info = 'assume'
                           OR missing_info = 'fail'),
    state           TEXT NOT NULL
                    CHECK (state = 'running' OR state = 'awaiting_input'
                           OR state = 'completed' OR state = 'incomplete'
                           OR state = 'failed' OR state = 'stopped'),
    phase           TEXT NOT NULL
                    CHECK (phase = 'entry' OR phase = 'answering'
                           OR phase = 'researching'
                           OR phase = 'waiting_for_provider'
                           OR phase = 'closeout' OR phase = 'recovering'),
    reason          TEXT
                    CHECK (reason IS NULL OR reason = 'budget_requests'
                           OR reason = 'budget_tools'
                           OR reason = 'budget_tokens' OR reason = 'deadline'
                           OR reason = 'no_reply'
                           OR reason = 'partial_coverage' OR reason = 'length'
                           OR reason = 'provider_error'
                           OR reason = 'provider_quota'
                           OR reason = 'stopped_by_user'
                           OR reason = 'crashed'),
    title           TEXT NOT NULL,
    progress        TEXT NOT NULL,   -- one line for the person, '' at first
    lead            TEXT,            -- text said before research was started
    question        TEXT,            -- while (or since) it awaits input
    created_ms      INTEGER NOT NULL,
    started_ms      INTEGER,         -- first model request sent
    ended_ms        INTEGER,
    accepted_seq    INTEGER NOT NULL, -- newest change when it was accepted
    ended_seq       INTEGER,          -- newest change when it ended
    -- Budget: used and limit. seconds are active_ms / 1000.
    requests_used   INTEGER NOT NULL DEFAULT 0,
    requests_limit  INTEGER NOT NULL,
    tool_calls_used INTEGER NOT NULL DEFAULT 0,
    tool_calls_limit INTEGER NOT NULL,
    active_ms       INTEGER NOT NULL DEFAULT 0,
    seconds_limit   INTEGER NOT NULL,
    tokens_used     INTEGER NOT NULL DEFAULT 0, -- known and estimated together
    tokens_limit    INTEGER NOT NULL,
    unknown_requests INTEGER NOT NULL DEFAULT 0, -- usage only estimated
    -- First limit met; it decides the end, see R26.
    limit_reason    TEXT
                    CHECK (limit_reason IS NULL
                           OR limit_reason = 'budget_requests'
                           OR limit_reason = 'budget_tools'
                           OR limit_reason = 'budget_tokens'
                           OR limit_reason = 'deadline'
                           OR limit_reason = 'no_reply'
                           OR limit_reason = 'partial_coverage'
                           OR limit_reason = 'length'
                           OR limit_reason = 'provider_error'
                           OR limit_reason = 'provider_quota'),
    crashes         INTEGER NOT NULL DEFAULT 0, -- runtimes it took down in a row
    waiting_since_ms INTEGER,         -- of awaiting_input
    -- Answer: its identity. The text of a running answer is in the feed, that
    -- of an ended one in answer.
    answer_revision INTEGER NOT NULL DEFAULT 0,
    answer_parts    INTEGER NOT NULL DEFAULT 0,
    answer_complete INTEGER NOT NULL DEFAULT 0 CHECK (answer_complete IN (0, 1)),
    CHECK ((ended_ms IS NULL) = (state IN ('running', 'awaiting_input'))),
    CHECK (reason IS NOT NULL OR state IN ('running', 'awaiting_input')
           OR state = 'completed'),
    CHECK (state <> 'completed' OR reason IS NULL)
) STRICT;
CREATE INDEX run_by_conversation ON run (conversation_id, id);
CREATE INDEX run_by_account ON run (account_id, id);
CREATE INDEX run_active ON run (account_id, id) WHERE ended_ms IS NULL;
CREATE INDEX run_by_continues ON run (continues) WHERE continues IS NOT NULL;

-- The text of an answer that is complete, or of one that ended in mid-word.
CREATE TABLE answer (
    run_id INTEGER PRIMARY KEY REFERENCES run (id) ON DELETE CASCADE,
    body   TEXT NOT NULL
) STRICT;

-- A place in an account's capacity, numbered from 1; see R16.
CREATE TABLE slot (
    account_id INTEGER NOT NULL REFERENCES account (id) ON DELETE CASCADE,
    class      TEXT NOT NULL CHECK (class IN ('short', 'background')),
    n          INTEGER NOT NULL CHECK (n > 0),
    run_id     INTEGER NOT NULL UNIQUE REFERENCES run (id) ON DELETE CASCADE,
    PRIMARY KEY (account_id, class, n)
) STRICT, WITHOUT ROWID;

-- Ties a source message, the entry decision (if any) and the target Run.
CREATE TABLE handoff (
    id              INTEGER PRIMARY KEY AUTOINCREMENT,
    kind            TEXT NOT NULL CHECK (kind IN ('adjustment', 'reply')),
    origin          TEXT NOT NULL
                    CHECK (origin = 'panel' OR origin = 'entry'
                           OR origin = 'continuation'),
    message_id      INTEGER NOT NULL REFERENCES message (id) ON DELETE CASCADE,
    run_id          INTEGER NOT NULL REFERENCES run (id) ON DELETE CASCADE,
    decided_by      INTEGER,          -- the entry request that named the target
    state           TEXT NOT NULL
                    CHECK (state = 'received' OR state = 'handed'
                           OR state = 'not_applied'),
    reason          TEXT
                    CHECK (reason IS NULL OR reason = 'run_ended'
                           OR reason = 'run_stopped' OR reason = 'run_failed'
                           OR reason = 'budget'),
    planned_request_id INTEGER,       -- first request whose input contains it
    request_id      INTEGER,          -- the request that handed it
    created_ms      INTEGER NOT NULL,
    handed_ms       INTEGER,
    UNIQUE (message_id, run_id),
    CHECK ((state = 'not_applied') = (reason IS NOT NULL)),
    CHECK ((state = 'handed') = (handed_ms IS NOT NULL))
) STRICT;
CREATE INDEX handoff_by_run ON handoff (run_id, id);

-- Bodies of model requests, as a list of pieces from the front: a body is the
-- chain of segments from a root to one segment, then the request's tail. A
-- root without run_id is a fixed prefix, shared by all Runs.
CREATE TABLE segment (
    id        INTEGER PRIMARY KEY AUTOINCREMENT,
    parent_id INTEGER REFERENCES segment (id) ON DELETE CASCADE,
    run_id    INTEGER REFERENCES run (id) ON DELETE CASCADE,
    sha256    BLOB UNIQUE,   -- of the body; shared roots only
    body      TEXT NOT NULL,
    CHECK ((run_id IS NULL) = (sha256 IS NOT NULL)),
    CHECK (run_id IS NOT NULL OR parent_id IS NULL)
) STRICT;
CREATE INDEX segment_by_run ON segment (run_id) WHERE run_id IS NOT NULL;
CREATE INDEX segment_by_parent ON segment (parent_id)
    WHERE parent_id IS NOT NULL;

-- One call to the model. Its input never changes.
CREATE TABLE request (
    id            INTEGER PRIMARY KEY AUTOINCREMENT,
    run_id        INTEGER NOT NULL REFERENCES run (id) ON DELETE CASCADE,
    purpose       TEXT NOT NULL
                  CHECK (purpose = 'entry' OR purpose = 'answer'
                         OR purpose = 'research' OR purpose = 'closeout'),
    state         TEXT NOT NULL
                  CHECK (state = 'planned' OR state = 'sent'
                         OR state = 'skipped' OR state = 'done'
                         OR state = 'interrupted' OR state = 'failed'
                         OR state = 'unknown'),
    cause         TEXT
                  CHECK (cause IS NULL OR cause = 'adjustment'
                         OR cause = 'reply' OR cause = 'stop'
                         OR cause = 'deadline' OR cause = 'shutdown'),
    attempt       INTEGER NOT NULL,  -- 1, and one more for each retry
    segment_id    INTEGER NOT NULL REFERENCES segment (id),
    tail          TEXT NOT NULL,
    body_bytes    INTEGER NOT NULL,
    body_sha256   BLOB NOT NULL CHECK (length(body_sha256) = 32),
    input_estimate INTEGER NOT NULL, -- tokens, from the body's length
    not_before_ms INTEGER NOT NULL,  -- back-off; 0: at once
    reply         TEXT,              -- the assistant item, verbatim, as JSON
    finish        TEXT,              -- the provider's finish reason, as sent
    -- Usage: exactly one of known numbers and estimate counts.
    usage_known   INTEGER NOT NULL DEFAULT 0 CHECK (usage_known IN (0, 1)),
    input_tokens  INTEGER,
    output_tokens INTEGER,
    estimate      INTEGER NOT NULL DEFAULT 0,
    error         TEXT,              -- one line, without secrets
    planned_ms    INTEGER NOT NULL,
    sent_ms       INTEGER,
    first_ms      INTEGER,           -- first chunk that carries a choice
    ended_ms      INTEGER,
    CHECK (state <> 'skipped' OR estimate = 0)
) STRICT;
CREATE INDEX request_by_run ON request (run_id, id);
CREATE INDEX request_by_segment ON request (segment_id);
CREATE INDEX request_sent ON request (id) WHERE state = 'sent';

CREATE TABLE tool_call (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    run_id     INTEGER NOT NULL REFERENCES run (id) ON DELETE CASCADE,
    request_id INTEGER NOT NULL REFERENCES request (id) ON DELETE CASCADE,
    n          INTEGER NOT NULL,   -- order within the reply, from 0
    call_id    TEXT NOT NULL,      -- the provider's id of the call
    name       TEXT NOT NULL,
    arguments  TEXT NOT NULL,      -- as the model sent them
    state      TEXT NOT NULL
               CHECK (state = 'planned' OR state = 'sent' OR state = 'skipped'
                      OR state = 'done' OR state = 'failed'
                      OR state = 'interrupted' OR state = 'unknown'),
    cause      TEXT
               CHECK (cause IS NULL OR cause = 'adjustment' OR cause = 'reply'
                      OR cause = 'stop' OR cause = 'deadline'
                      OR cause = 'shutdown'),
    result     TEXT,               -- what the model is told
    summary    TEXT NOT NULL,      -- what the person is told, '' at first
    error      TEXT,
    planned_ms INTEGER NOT NULL,
    started_ms INTEGER,
    ended_ms   INTEGER,
    UNIQUE (request_id, n)
) STRICT;
CREATE INDEX tool_call_by_run ON tool_call (run_id, id);
CREATE INDEX tool_call_sent ON tool_call (id) WHERE state = 'sent';

-- A passage the Run retrieved; the report cites it as [n]. The text is kept
-- with the Run, so that a citation can be checked when the page is gone.
CREATE TABLE source (
    id           INTEGER PRIMARY KEY AUTOINCREMENT,
    run_id       INTEGER NOT NULL REFERENCES run (id) ON DELETE CASCADE,
    tool_call_id INTEGER NOT NULL REFERENCES tool_call (id) ON DELETE CASCADE,
    n            INTEGER NOT NULL,
    passage      TEXT NOT NULL,    -- the tool's own id of the passage
    title        TEXT NOT NULL,
    location     TEXT NOT NULL,
    heading      TEXT NOT NULL,
    body         TEXT NOT NULL,
    UNIQUE (run_id, n),
    UNIQUE (run_id, passage)
) STRICT;
CREATE INDEX source_by_tool_call ON source (tool_call_id);

-- Working memory of a research.
CREATE TABLE note (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    run_id     INTEGER NOT NULL REFERENCES run (id) ON DELETE CASCADE,
    body       TEXT NOT NULL,
    created_ms INTEGER NOT NULL
) STRICT;
CREATE INDEX note_by_run ON note (run_id, id);

-- What the report covers: the request (no handoff) and each handed adjustment.
CREATE TABLE coverage (
    run_id     INTEGER NOT NULL REFERENCES run (id) ON DELETE CASCADE,
    n          INTEGER NOT NULL,   -- order: the request first
    handoff_id INTEGER,
    status     TEXT NOT NULL
               CHECK (status = 'covered' OR status = 'partial'
                      OR status = 'not_covered'),
    remark     TEXT NOT NULL,
    PRIMARY KEY (run_id, n)
) STRICT, WITHOUT ROWID;

CREATE TABLE notification (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    account_id INTEGER NOT NULL REFERENCES account (id) ON DELETE CASCADE,
    run_id     INTEGER NOT NULL REFERENCES run (id) ON DELETE CASCADE,
    kind       TEXT NOT NULL CHECK (kind IN ('research_ended')),
    created_ms INTEGER NOT NULL,
    seen_ms    INTEGER,
    UNIQUE (run_id, kind)
) STRICT;
CREATE INDEX notification_unseen ON notification (account_id, run_id)
    WHERE seen_ms IS NULL;

-- The feed. References, and the text of an answer part; never updated.
CREATE TABLE change (
    seq             INTEGER PRIMARY KEY AUTOINCREMENT,
    account_id      INTEGER NOT NULL,
    kind            TEXT NOT NULL
                    CHECK (kind = 'answer.part' OR kind = 'run.updated'
                           OR kind = 'message.created' OR kind = 'run.created'
                           OR kind = 'conversation.updated'
                           OR kind = 'request.updated'
                           OR kind = 'tool_call.updated'
                           OR kind = 'handoff.updated'
                           OR kind = 'source.added'
                           OR kind = 'conversation.deleted'
                           OR kind = 'notification.created'),
    conversation_id INTEGER,
    run_id          INTEGER,
    ref             INTEGER,   -- id of the message, handoff, request ...
    revision        INTEGER,   -- answer.part only
    part            INTEGER,
    body            TEXT,
    CHECK ((kind = 'answer.part') = (body IS NOT NULL))
) STRICT;
CREATE INDEX change_by_account ON change (account_id, seq);
CREATE UNIQUE INDEX change_part ON change (run_id, revision, part)
    WHERE kind = 'answer.part';

-- What an Idempotency-Key stands for; see R02.
CREATE TABLE idempotency (
    account_id      INTEGER NOT NULL REFERENCES account (id) ON DELETE CASCADE,
    key             TEXT NOT NULL CHECK (length(key) BETWEEN 1 AND 255),
    fingerprint     BLOB NOT NULL CHECK (length(fingerprint) = 32),
    conversation_id INTEGER,
    message_id      INTEGER,
    run_id          INTEGER,
    handoff_id      INTEGER,
    created_ms      INTEGER NOT NULL,
    PRIMARY KEY (account_id, key)
) STRICT, WITHOUT ROWID;

-- Which runtime owns the database. One row; epoch grows at each take-over.
CREATE TABLE lease (
    id              INTEGER PRIMARY KEY CHECK (id = 1),
    epoch           INTEGER NOT NULL,
    pid             INTEGER NOT NULL,
    boot_id         TEXT NOT NULL,
    renewed_boot_ms INTEGER NOT NULL   -- CLOCK_BOOTTIME
) STRICT;
INSERT INTO lease (id, epoch, pid, boot_id, renewed_boot_ms)
VALUES (1, 0, 0, '', 0);

-- How the model endpoint was when last spoken to. One row.
CREATE TABLE endpoint (
    id         INTEGER PRIMARY KEY CHECK (id = 1),
    state      TEXT NOT NULL
               CHECK (state = 'unknown' OR state = 'ok'
                      OR state = 'unauthorized' OR state = 'unreachable'),
    changed_ms INTEGER NOT NULL
) STRICT;
INSERT INTO endpoint (id, state, changed_ms) VALUES (1, 'unknown', 0);
