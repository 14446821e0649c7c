-- What must hold between rows, as statements that find what breaks it: each
-- names the things, at most :limit.

-- stmt: CHECK_PLACE_HELD read scan params=1 cols=1
SELECT 'run_' || run.id FROM slot JOIN run ON run.id = slot.run_id
 WHERE run.ended_ms IS NOT NULL LIMIT :limit;

-- stmt: CHECK_PLACE_MISSING read scan params=1 cols=1
SELECT 'run_' || id FROM run INDEXED BY run_active
 WHERE ended_ms IS NULL
   AND NOT EXISTS (SELECT 1 FROM slot WHERE slot.run_id = run.id) LIMIT :limit;

-- stmt: CHECK_PLACE_OTHER read scan params=1 cols=1
-- A place of another account, or of the other class.
SELECT 'run_' || run.id FROM slot JOIN run ON run.id = slot.run_id
 WHERE slot.account_id <> run.account_id
    OR (slot.class = 'background') <> (run.kind = 'research') LIMIT :limit;

-- stmt: CHECK_SENT read scan params=2 cols=1
-- Of Runs that ended before :before_ms: longer ago than any settling takes.
SELECT 'req_' || request.id
  FROM request INDEXED BY request_sent JOIN run ON run.id = request.run_id
 WHERE request.state = 'sent' AND run.ended_ms < :before_ms
UNION ALL
SELECT 'call_' || tool_call.id
  FROM tool_call INDEXED BY tool_call_sent JOIN run ON run.id = tool_call.run_id
 WHERE tool_call.state = 'sent' AND run.ended_ms < :before_ms LIMIT :limit;

-- stmt: CHECK_PLANNED read scan params=1 cols=1
SELECT 'req_' || request.id FROM request JOIN run ON run.id = request.run_id
 WHERE request.state = 'planned' AND run.ended_ms IS NOT NULL
UNION ALL
SELECT 'call_' || tool_call.id
  FROM tool_call JOIN run ON run.id = tool_call.run_id
 WHERE tool_call.state = 'planned' AND run.ended_ms IS NOT NULL LIMIT :limit;

-- stmt: CHECK_RECEIPT_OPEN read scan params=1 cols=1
SELECT 'hand_' || handoff.id FROM handoff JOIN run ON run.id = handoff.run_id
 WHERE handoff.state = 'received' AND run.ended_ms IS NOT NULL LIMIT :limit;

-- stmt: CHECK_MESSAGE read scan params=1 cols=1
-- A message starts a Run or is handed to one.
SELECT 'msg_' || id FROM message
 WHERE NOT EXISTS (SELECT 1 FROM run WHERE run.message_id = message.id)
   AND NOT EXISTS (SELECT 1 FROM handoff WHERE handoff.message_id = message.id)
 LIMIT :limit;

-- stmt: CHECK_PARTS read scan params=1 cols=1
SELECT 'run_' || run_id FROM change
 WHERE kind = 'answer.part'
 GROUP BY run_id, revision
HAVING max(part) <> count(*) OR min(part) <> 1 LIMIT :limit;

-- stmt: CHECK_ANSWER read scan params=1 cols=1
-- The answer of an ended Run is its parts, as long as those are kept.
SELECT 'run_' || run.id FROM run JOIN answer ON answer.run_id = run.id
 WHERE answer.body <> (
       SELECT COALESCE(group_concat(body, ''), answer.body)
         FROM (SELECT body FROM change
                WHERE kind = 'answer.part' AND run_id = run.id
                  AND revision = run.answer_revision
                ORDER BY part))
 LIMIT :limit;

-- stmt: CHECK_BUDGET read scan params=1 cols=1
SELECT 'run_' || id FROM run
 WHERE requests_used > requests_limit OR tool_calls_used > tool_calls_limit
 LIMIT :limit;

-- stmt: CHECK_NOTIFICATION read scan params=1 cols=1
-- A research end is told once (the table keeps it from being told twice).
SELECT 'run_' || id FROM run
 WHERE kind = 'research' AND ended_ms IS NOT NULL
   AND NOT EXISTS (SELECT 1 FROM notification AS n WHERE n.run_id = run.id)
 LIMIT :limit;

-- stmt: CHECK_SEQ read scan params=1 cols=1
-- A number that was given out is not given out again.
SELECT 'change ' || max(seq) FROM change
HAVING max(seq) > (SELECT COALESCE(max(seq), 0) FROM sqlite_sequence
                    WHERE name = 'change') LIMIT :limit;
