-- Calls that wait for a person, and what was decided of them. A Run has at most
-- one that is open.
CREATE TABLE approval (
    id            INTEGER PRIMARY KEY AUTOINCREMENT,
    run_id        INTEGER NOT NULL REFERENCES run (id) ON DELETE CASCADE,
    tool_call_id  INTEGER NOT NULL UNIQUE
                  REFERENCES tool_call (id) ON DELETE CASCADE,
    state         TEXT NOT NULL
                  CHECK (state = 'open' OR state = 'approved_once'
                         OR state = 'approved_run' OR state = 'denied'
                         OR state = 'void'),
    reason        TEXT NOT NULL      -- why it was asked
                  CHECK (reason = 'configured' OR reason = 'acts'),
    note          TEXT,              -- told to the model with a denial
    created_ms    INTEGER NOT NULL,
    decided_ms    INTEGER,           -- or became void
    decided_by    TEXT,              -- kind of actor; the runtime: nobody came
    decided_by_id INTEGER,
    CHECK ((state = 'open') = (decided_ms IS NULL)),
    CHECK ((state = 'open' OR state = 'void') = (decided_by IS NULL)),
    CHECK (note IS NULL OR state = 'denied')
) STRICT;
CREATE INDEX approval_by_run ON approval (run_id, id);
CREATE UNIQUE INDEX approval_open ON approval (run_id) WHERE state = 'open';

-- What the tool was when it was called: it does more than read. And when the
-- policy let the call through, which the limits count.
ALTER TABLE tool_call ADD COLUMN acts INTEGER NOT NULL DEFAULT 1
    CHECK (acts IN (0, 1));
ALTER TABLE tool_call ADD COLUMN admitted_ms INTEGER;
UPDATE tool_call SET acts = 1 - safe, admitted_ms = started_ms
 WHERE run_id IN (SELECT id FROM run WHERE ended_ms IS NULL);
CREATE INDEX tool_call_admitted ON tool_call (admitted_ms)
    WHERE admitted_ms IS NOT NULL;
