-- What a model makes up as a tool's name is its text, and no word for the log.
ALTER TABLE tool_call ADD COLUMN known INTEGER NOT NULL DEFAULT 1
    CHECK (known IN (0, 1)); -- there was such a tool when it was called
DROP TRIGGER audit_tool_call;
CREATE TRIGGER audit_tool_call AFTER UPDATE OF state ON tool_call
WHEN NEW.state <> OLD.state AND NEW.state <> 'skipped'
BEGIN
    INSERT INTO audit (at_ms, account_id, actor, actor_id, address, action,
                       subject, outcome, detail)
    SELECT COALESCE(NEW.ended_ms, NEW.started_ms, NEW.planned_ms), account_id,
           'run', NEW.run_id, '', 'tool_call', 'call_' || NEW.id, NEW.state,
           CASE NEW.known WHEN 1 THEN substr(NEW.name, 1, 128)
                          ELSE 'no such tool' END
      FROM run WHERE id = NEW.run_id;
END;

-- Lines go when they are older than audit.days, and whoever is at the file, 30
-- days are the least.
DROP TRIGGER audit_is_not_deleted;
CREATE TRIGGER audit_is_kept BEFORE DELETE ON audit
WHEN OLD.at_ms > CAST((julianday('now') - 2440587.5 - 30) * 86400000 AS INTEGER)
BEGIN
    SELECT RAISE(ABORT, 'the audit log is only added to');
END;
