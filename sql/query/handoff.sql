-- stmt: HANDOFF_INSERT write params=8 cols=0
INSERT INTO handoff (kind, origin, message_id, run_id, decided_by, state,
                     reason, created_ms)
VALUES (:kind, :origin, :message, :run, :decided_by, :state, :reason, :now_ms);

-- stmt: HANDOFF_FIND read params=2 cols=1
SELECT id FROM handoff WHERE message_id = :message AND run_id = :run;

-- stmt: HANDOFF_GET read params=2 cols=12
SELECT h.id, h.kind, h.origin, h.message_id, h.run_id, h.decided_by, h.state,
       h.reason, h.planned_request_id, h.request_id, h.created_ms, h.handed_ms
  FROM handoff AS h
  JOIN run ON run.id = h.run_id
 WHERE h.id = :id AND (run.account_id = :account OR :account = 0);

-- stmt: HANDOFF_OF_RUN read params=1 cols=12
SELECT id, kind, origin, message_id, run_id, decided_by, state, reason,
       planned_request_id, request_id, created_ms, handed_ms
  FROM handoff
 WHERE run_id = :run
 ORDER BY id;

-- stmt: HANDOFF_OF_MESSAGES read params=3 cols=12
SELECT h.id, h.kind, h.origin, h.message_id, h.run_id, h.decided_by, h.state,
       h.reason, h.planned_request_id, h.request_id, h.created_ms, h.handed_ms
  FROM message AS m
  JOIN handoff AS h ON h.message_id = m.id
 WHERE m.conversation_id = :conversation AND m.id BETWEEN :from AND :to
 ORDER BY m.id;

-- stmt: HANDOFF_WAITING read params=1 cols=1
-- Received ones, in a request or not: R22 asks for none.
SELECT count(*) FROM handoff WHERE run_id = :run AND state = 'received';

-- stmt: HANDOFF_PLAN write params=2 cols=0
UPDATE handoff SET planned_request_id = :request
 WHERE run_id = :run AND state = 'received' AND planned_request_id IS NULL;

-- stmt: HANDOFF_TO_HAND read params=2 cols=1
SELECT id FROM handoff
 WHERE run_id = :run AND state = 'received' AND planned_request_id <= :request
 ORDER BY id;

-- stmt: HANDOFF_HAND write params=3 cols=0
UPDATE handoff SET state = 'handed', request_id = :request, handed_ms = :now_ms
 WHERE id = :id AND state = 'received';

-- stmt: HANDOFF_RECEIVED read params=1 cols=1
SELECT id FROM handoff WHERE run_id = :run AND state = 'received' ORDER BY id;

-- stmt: HANDOFF_DROP write params=2 cols=0
UPDATE handoff SET state = 'not_applied', reason = :reason
 WHERE id = :id AND state = 'received';

-- stmt: REQUIREMENT_OF_RUN read params=1 cols=1
-- The message it began with, and every handoff whatever became of it.
SELECT m.body FROM run JOIN message AS m ON m.id = run.message_id
 WHERE run.id = :run
UNION ALL
SELECT m.body FROM handoff AS h JOIN message AS m ON m.id = h.message_id
 WHERE h.run_id = :run;

-- stmt: REQUIREMENT_NOT_APPLIED read params=1 cols=1
-- What a continuation would take over.
SELECT m.body FROM handoff AS h JOIN message AS m ON m.id = h.message_id
 WHERE h.run_id = :run AND h.state = 'not_applied';

-- stmt: REQUIREMENT_MESSAGE read params=1 cols=1
SELECT body FROM message WHERE id = :message;
