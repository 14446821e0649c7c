-- Approvals: calls that wait for a person.

-- stmt: APPROVAL_GET read params=2 cols=12
-- :account 0 stands for any account.
SELECT a.id, a.run_id, a.tool_call_id, a.state, a.reason, a.note, a.created_ms,
       a.decided_ms, t.name, t.arguments,
       a.state = 'denied' AND a.decided_by = 'runtime', a.changed
  FROM approval AS a
  JOIN tool_call AS t ON t.id = a.tool_call_id
  JOIN run ON run.id = a.run_id
 WHERE a.id = :id AND (run.account_id = :account OR :account = 0);

-- stmt: APPROVAL_INSERT write params=5 cols=0
INSERT INTO approval (run_id, tool_call_id, state, reason, changed, created_ms)
VALUES (:run, :tool_call, 'open', :reason, :changed, :now_ms);

-- stmt: APPROVAL_DECIDE write params=6 cols=0
UPDATE approval
   SET state = :state, note = :note, decided_ms = :now_ms, decided_by = :by,
       decided_by_id = :by_id
 WHERE id = :id AND state = 'open';

-- stmt: APPROVAL_VOID write params=2 cols=0
UPDATE approval SET state = 'void', decided_ms = :now_ms
 WHERE run_id = :run AND state = 'open';

-- stmt: APPROVAL_STANDING read params=3 cols=3
-- Was this tool approved for the whole Run, as its server describes it now; was
-- a call of its name approved when the server described it otherwise; was a call
-- of any left unanswered.
SELECT EXISTS (SELECT 1 FROM approval AS a
                 JOIN tool_call AS t ON t.id = a.tool_call_id
                WHERE a.run_id = :run AND a.state = 'approved_run'
                  AND t.name = :name AND t.tool IS :tool),
       EXISTS (SELECT 1 FROM approval AS c
                 JOIN tool_call AS u ON u.id = c.tool_call_id
                WHERE c.run_id = :run
                  AND (c.state = 'approved_once' OR c.state = 'approved_run')
                  AND u.name = :name AND u.tool <> :tool),
       EXISTS (SELECT 1 FROM approval AS b
                WHERE b.run_id = :run AND b.state = 'denied'
                  AND b.decided_by = 'runtime');

-- stmt: TOOL_CALL_ADMIT write params=2 cols=0
UPDATE tool_call SET admitted_ms = :now_ms
 WHERE id = :id AND admitted_ms IS NULL;

-- stmt: TOOL_CALL_MADE_IN_RUN read params=3 cols=1
-- Calls of tools whose name begins so.
SELECT count(*) FROM tool_call
 WHERE run_id = :run AND admitted_ms IS NOT NULL
   AND substr(name, 1, :bytes) = :name;

-- stmt: TOOL_DAY_ADD write params=3 cols=0
INSERT INTO tool_day (account_id, day, name, calls)
VALUES (:account, :day, :name, 1)
ON CONFLICT (account_id, day, name) DO UPDATE SET calls = calls + 1;

-- stmt: TOOL_DAY_FORGET write params=2 cols=0
DELETE FROM tool_day WHERE account_id = :account AND day < :before;

-- stmt: TOOL_DAY_MADE read params=4 cols=1
-- Calls of a day, of tools whose name begins so; they lie together.
SELECT coalesce(sum(calls), 0) FROM tool_day
 WHERE account_id = :account AND day = :day
   AND substr(name, 1, :bytes) = :name;
