-- The audit log: every control action and every effect, who did it, when, to
-- what, and from where. It holds words, ids and numbers, never what a person or
-- a model wrote, so it may outlive what it tells of. Nothing refers to it, and
-- it refers to nothing: a line stays when its thing is gone.
CREATE TABLE audit (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    at_ms      INTEGER NOT NULL,
    account_id INTEGER NOT NULL,  -- whose things; 0: of no account
    actor      TEXT NOT NULL
               CHECK (actor = 'run' OR actor = 'user' OR actor = 'session'
                      OR actor = 'token' OR actor = 'command'
                      OR actor = 'runtime'),
    actor_id   INTEGER NOT NULL,  -- the Run, session or token; a command's uid
    address    TEXT NOT NULL,     -- network address of who asked; '': inside
    action     TEXT NOT NULL,     -- a word of states.c: 'run.stop'; they grow
    subject    TEXT NOT NULL,     -- its id as elsewhere: 'run_17'; '': none
    outcome    TEXT NOT NULL,     -- the state that the subject moved to, or ''
    detail     TEXT NOT NULL      -- a tool's name, a purpose, a reason, or ''
) STRICT;
CREATE INDEX audit_by_account ON audit (account_id, id);

-- Append-only, also for whoever edits this file by hand.
CREATE TRIGGER audit_is_not_changed BEFORE UPDATE ON audit
BEGIN
    SELECT RAISE(ABORT, 'the audit log is only added to');
END;
CREATE TRIGGER audit_is_not_deleted BEFORE DELETE ON audit
BEGIN
    SELECT RAISE(ABORT, 'the audit log is only added to');
END;

-- Effects and ends of Runs are logged by the database itself: no way to move
-- their rows can forget it. What was never sent had no effect.
CREATE TRIGGER audit_request AFTER UPDATE OF state ON request
WHEN NEW.state <> OLD.state AND NEW.state <> 'skipped'
BEGIN
    INSERT INTO audit (at_ms, account_id, actor, actor_id, address, action,
                       subject, outcome, detail)
    SELECT COALESCE(NEW.ended_ms, NEW.sent_ms, NEW.planned_ms), account_id,
           'run', NEW.run_id, '', 'request', 'req_' || NEW.id, NEW.state,
           NEW.purpose
      FROM run WHERE id = NEW.run_id;
END;
CREATE TRIGGER audit_tool_call AFTER UPDATE OF state ON tool_call
WHEN NEW.state <> OLD.state AND NEW.state <> 'skipped'
BEGIN
    INSERT INTO audit (at_ms, account_id, actor, actor_id, address, action,
                       subject, outcome, detail)
    SELECT COALESCE(NEW.ended_ms, NEW.started_ms, NEW.planned_ms), account_id,
           'run', NEW.run_id, '', 'tool_call', 'call_' || NEW.id, NEW.state,
           substr(NEW.name, 1, 128)
      FROM run WHERE id = NEW.run_id;
END;
CREATE TRIGGER audit_run_end AFTER UPDATE OF ended_ms ON run
WHEN OLD.ended_ms IS NULL AND NEW.ended_ms IS NOT NULL
BEGIN
    INSERT INTO audit (at_ms, account_id, actor, actor_id, address, action,
                       subject, outcome, detail)
    VALUES (NEW.ended_ms, NEW.account_id, 'runtime', 0, '', 'run.end',
            'run_' || NEW.id, NEW.state, COALESCE(NEW.reason, ''));
END;
