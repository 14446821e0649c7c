-- Runs, slots, answers, coverage, notifications.

-- stmt: RUN_GET read params=2 cols=37
-- :account 0 stands for any account.
SELECT id, account_id, conversation_id, message_id, continues, kind, depth,
       missing_info, state, phase, reason, title, progress, lead, question,
       created_ms, started_ms, ended_ms, accepted_seq, ended_seq,
       requests_used, requests_limit, tool_calls_used, tool_calls_limit,
       tokens_used, tokens_limit, unknown_requests, active_ms, seconds_limit,
       limit_reason, crashes, waiting_since_ms, answer_revision, answer_parts,
       answer_complete, answer_draft,
       (SELECT a.id FROM approval AS a
         WHERE a.run_id = run.id AND a.state = 'open')
  FROM run
 WHERE id = :id AND (account_id = :account OR :account = 0);

-- stmt: RUN_LIST_ALL read params=3 cols=1
SELECT id FROM run
 WHERE account_id = :account AND id < :before
 ORDER BY id DESC
 LIMIT :limit;

-- stmt: RUN_LIST_CONVERSATION read params=4 cols=1
SELECT id FROM run
 WHERE conversation_id = :conversation AND id < :before
   AND account_id = :account
 ORDER BY id DESC
 LIMIT :limit;

-- stmt: RUN_LIST_ACTIVE read params=3 cols=1
SELECT id FROM run INDEXED BY run_active
 WHERE account_id = :account AND ended_ms IS NULL AND id < :before
 ORDER BY id DESC
 LIMIT :limit;

-- stmt: RUN_OF_MESSAGES read params=3 cols=1
SELECT run.id FROM message
  JOIN run ON run.message_id = message.id
 WHERE message.conversation_id = :conversation
   AND message.id BETWEEN :from AND :to
 ORDER BY message.id;

-- stmt: RUN_WITHOUT_MESSAGE read params=3 cols=1
-- Continued without words: they belong where their time falls.
SELECT id FROM run
 WHERE conversation_id = :conversation AND message_id IS NULL
   AND created_ms >= :from_ms AND created_ms < :to_ms
 ORDER BY id;

-- stmt: RUN_ALL_ACTIVE read scan params=0 cols=1
-- At the start of a runtime: the whole of a small index.
SELECT id FROM run INDEXED BY run_active WHERE ended_ms IS NULL ORDER BY id;

-- stmt: RUN_INSERT write params=15 cols=0
INSERT INTO run (account_id, conversation_id, message_id, continues, kind,
                 depth, missing_info, state, phase, title, progress,
                 created_ms, accepted_seq, requests_limit, tool_calls_limit,
                 seconds_limit, tokens_limit)
VALUES (:account, :conversation, :message, :continues, :kind, :depth,
        :missing_info, 'running', :phase, :title, '', :now_ms,
        :accepted_seq, :requests_limit, :tool_calls_limit, :seconds_limit,
        :tokens_limit);

-- stmt: RUN_SAVE write params=22 cols=0
-- An ended Run never changes again.
UPDATE run
   SET kind = :kind, depth = :depth, state = :state, phase = :phase,
       title = :title, progress = :progress, lead = :lead,
       question = :question, started_ms = :started_ms,
       requests_used = :requests_used, requests_limit = :requests_limit,
       tool_calls_used = :tool_calls_used,
       tool_calls_limit = :tool_calls_limit, tokens_used = :tokens_used,
       tokens_limit = :tokens_limit, unknown_requests = :unknown_requests,
       active_ms = :active_ms, seconds_limit = :seconds_limit,
       limit_reason = :limit_reason, crashes = :crashes,
       waiting_since_ms = :waiting_since_ms
 WHERE id = :id AND ended_ms IS NULL;

-- stmt: RUN_END write params=9 cols=0
UPDATE run
   SET state = :state, reason = :reason, progress = :progress,
       ended_ms = :now_ms, ended_seq = :ended_seq, active_ms = :active_ms,
       answer_complete = :answer_complete, waiting_since_ms = NULL
 WHERE id = :id AND state = :from;

-- stmt: RUN_ADD_USAGE write params=3 cols=0
-- Usage of a request that was settled after its Run had ended (R25).
UPDATE run
   SET tokens_used = tokens_used + :tokens,
       unknown_requests = unknown_requests + :unknown
 WHERE id = :id;

-- stmt: RUN_ANSWER write params=4 cols=0
UPDATE run SET answer_revision = :revision, answer_parts = :parts,
       answer_draft = :draft
 WHERE id = :id AND ended_ms IS NULL AND answer_revision <= :revision;

-- stmt: ANSWER_GET read params=1 cols=1
SELECT body FROM answer WHERE run_id = :run;

-- stmt: ANSWER_PUT write params=2 cols=0
INSERT INTO answer (run_id, body) VALUES (:run, :body)
ON CONFLICT (run_id) DO UPDATE SET body = excluded.body;

-- stmt: ANSWER_PARTS read params=2 cols=1
SELECT body FROM change
 WHERE kind = 'answer.part' AND run_id = :run AND revision = :revision
 ORDER BY part;

-- stmt: SLOT_LAST read params=2 cols=1
SELECT COALESCE(max(n), 0) FROM slot
 WHERE account_id = :account AND class = :class;

-- stmt: SLOT_COUNT read params=2 cols=1
SELECT count(*) FROM slot WHERE account_id = :account AND class = :class;

-- stmt: SLOT_GAP read params=2 cols=1
-- The lowest free number above another or 1; asked only past the limit.
SELECT COALESCE(min(g), 1) FROM (
    SELECT 1 AS g
     WHERE NOT EXISTS (SELECT 1 FROM slot WHERE account_id = :account
                          AND class = :class AND n = 1)
    UNION ALL
    SELECT s.n + 1 FROM slot AS s
     WHERE s.account_id = :account AND s.class = :class
       AND NOT EXISTS (SELECT 1 FROM slot AS t
                        WHERE t.account_id = s.account_id
                          AND t.class = s.class AND t.n = s.n + 1));

-- stmt: SLOT_TAKE write params=4 cols=0
INSERT INTO slot (account_id, class, n, run_id)
VALUES (:account, :class, :n, :run);

-- stmt: SLOT_FREE write params=1 cols=0
DELETE FROM slot WHERE run_id = :run;

-- stmt: COVERAGE_OF_RUN read params=1 cols=5
SELECT c.handoff_id,
       COALESCE((SELECT h.message_id FROM handoff AS h WHERE h.id = c.handoff_id),
                (SELECT r.message_id FROM run AS r WHERE r.id = c.run_id)),
       c.status, c.remark, c.evidence
  FROM coverage AS c
 WHERE c.run_id = :run
 ORDER BY c.n;

-- stmt: COVERAGE_CLEAR write params=1 cols=0
DELETE FROM coverage WHERE run_id = :run;

-- stmt: COVERAGE_INSERT write params=6 cols=0
INSERT INTO coverage (run_id, n, handoff_id, status, remark, evidence)
VALUES (:run, :n, :handoff, :status, :remark, :evidence);

-- stmt: NOTIFICATION_INSERT write params=3 cols=0
INSERT INTO notification (account_id, run_id, kind, created_ms)
VALUES (:account, :run, 'research_ended', :now_ms)
ON CONFLICT (run_id, kind) DO NOTHING;

-- stmt: NOTIFICATION_UNSEEN read params=2 cols=4
-- The newest Runs first.
SELECT id, run_id, created_ms, seen_ms
  FROM notification INDEXED BY notification_unseen
 WHERE account_id = :account AND seen_ms IS NULL
 ORDER BY run_id DESC
 LIMIT :limit;

-- stmt: NOTIFICATION_GET read params=2 cols=4
SELECT id, run_id, created_ms, seen_ms FROM notification
 WHERE id = :id AND account_id = :account;
