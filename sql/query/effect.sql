-- Model requests, their bodies, tool calls, sources, notes.

-- stmt: REQUEST_GET read params=2 cols=23
SELECT q.id, q.run_id, q.purpose, q.state, q.cause, q.attempt, q.segment_id,
       q.body_bytes, q.input_estimate, q.not_before_ms, q.reply, q.finish,
       q.error, q.usage_known, q.input_tokens, q.output_tokens, q.estimate,
       q.planned_ms, q.sent_ms, q.first_ms, q.ended_ms, q.tail, q.cached_tokens
  FROM request AS q
  JOIN run ON run.id = q.run_id
 WHERE q.id = :id AND (run.account_id = :account OR :account = 0);

-- stmt: REQUEST_OF_RUN read params=1 cols=23
SELECT id, run_id, purpose, state, cause, attempt, segment_id, body_bytes,
       input_estimate, not_before_ms, reply, finish, error, usage_known,
       input_tokens, output_tokens, estimate, planned_ms, sent_ms, first_ms,
       ended_ms, tail, cached_tokens
  FROM request
 WHERE run_id = :run
 ORDER BY id;

-- stmt: REQUEST_LAST read params=1 cols=23
SELECT id, run_id, purpose, state, cause, attempt, segment_id, body_bytes,
       input_estimate, not_before_ms, reply, finish, error, usage_known,
       input_tokens, output_tokens, estimate, planned_ms, sent_ms, first_ms,
       ended_ms, tail, cached_tokens
  FROM request
 WHERE run_id = :run
 ORDER BY id DESC
 LIMIT 1;

-- stmt: REQUEST_LAST_PURPOSE read params=1 cols=1
SELECT purpose FROM request WHERE run_id = :run ORDER BY id DESC LIMIT 1;

-- stmt: REQUEST_BODY_FACTS read params=1 cols=4
SELECT segment_id, tail, body_bytes, body_sha256 FROM request WHERE id = :id;

-- stmt: REQUEST_INSERT write params=10 cols=0
INSERT INTO request (run_id, purpose, state, attempt, segment_id, tail,
                     body_bytes, body_sha256, input_estimate, not_before_ms,
                     planned_ms)
VALUES (:run, :purpose, 'planned', :attempt, :segment, :tail, :body_bytes,
        :body_sha256, :input_estimate, :not_before_ms, :now_ms);

-- stmt: REQUEST_SENT_COUNT read scan params=0 cols=2
-- All, and those of research.
SELECT count(*), COALESCE(sum(purpose IN ('research', 'closeout')), 0)
  FROM request INDEXED BY request_sent WHERE state = 'sent';

-- stmt: REQUEST_SEND write params=2 cols=0
UPDATE request SET state = 'sent', sent_ms = :now_ms
 WHERE id = :id AND state = 'planned';

-- stmt: REQUEST_FIRST write params=2 cols=0
UPDATE request SET first_ms = :now_ms
 WHERE id = :id AND state = 'sent' AND first_ms IS NULL;

-- stmt: REQUEST_SETTLE write params=13 cols=0
UPDATE request
   SET state = :state, cause = :cause, reply = :reply, finish = :finish,
       usage_known = :usage_known, input_tokens = :input_tokens,
       output_tokens = :output_tokens, cached_tokens = :cached_tokens,
       estimate = :estimate, error = :error,
       ended_ms = :now_ms
 WHERE id = :id AND state = :from;

-- stmt: REQUEST_SENT_OF_RUN read params=1 cols=2
SELECT id, input_estimate FROM request WHERE run_id = :run AND state = 'sent';

-- stmt: REQUEST_SKIP_PLANNED read params=1 cols=1
SELECT id FROM request WHERE run_id = :run AND state = 'planned';

-- stmt: SEGMENT_GET read params=1 cols=2
SELECT parent_id, body FROM segment WHERE id = :id;

-- stmt: SEGMENT_ROOT read params=1 cols=1
SELECT id FROM segment WHERE sha256 = :sha256;

-- stmt: SEGMENT_INSERT write params=4 cols=0
INSERT INTO segment (parent_id, run_id, sha256, body)
VALUES (:parent, :run, :sha256, :body);

-- stmt: TOOL_CALL_GET read params=2 cols=24
SELECT t.id, t.run_id, t.request_id, t.n, t.call_id, t.name, t.arguments,
       t.state, t.cause, t.result, t.summary, t.error, t.planned_ms,
       t.started_ms, t.ended_ms, t.repeats, t.safe, t.acts, t.admitted_ms,
       a.id, a.state, a.note, COALESCE(a.decided_by = 'runtime', 0), t.tool
  FROM tool_call AS t
  JOIN run ON run.id = t.run_id
  LEFT JOIN approval AS a ON a.tool_call_id = t.id
 WHERE t.id = :id AND (run.account_id = :account OR :account = 0);

-- stmt: TOOL_CALL_OF_RUN read params=1 cols=24
-- Without their results: all together they may be many megabytes.
SELECT t.id, t.run_id, t.request_id, t.n, t.call_id, t.name, t.arguments,
       t.state, t.cause, NULL, t.summary, t.error, t.planned_ms,
       t.started_ms, t.ended_ms, t.repeats, t.safe, t.acts, t.admitted_ms,
       a.id, a.state, a.note, COALESCE(a.decided_by = 'runtime', 0), t.tool
  FROM tool_call AS t
  LEFT JOIN approval AS a ON a.tool_call_id = t.id
 WHERE t.run_id = :run
 ORDER BY t.id;

-- stmt: TOOL_CALL_SHOWN read params=3 cols=25
-- As it is shown: without its result, and of its arguments :chars code points.
SELECT t.id, t.run_id, t.request_id, t.n, t.call_id, t.name,
       substr(t.arguments, 1, :chars), t.state, t.cause, NULL, t.summary,
       t.error, t.planned_ms, t.started_ms, t.ended_ms, t.repeats, t.safe,
       t.acts, t.admitted_ms, a.id, a.state, a.note,
       COALESCE(a.decided_by = 'runtime', 0), NULL, length(t.arguments) > :chars
  FROM tool_call AS t
  JOIN run ON run.id = t.run_id
  LEFT JOIN approval AS a ON a.tool_call_id = t.id
 WHERE t.id = :id AND (run.account_id = :account OR :account = 0);

-- stmt: TOOL_CALL_SHOWN_OF_RUN read params=2 cols=25
SELECT t.id, t.run_id, t.request_id, t.n, t.call_id, t.name,
       substr(t.arguments, 1, :chars), t.state, t.cause, NULL, t.summary,
       t.error, t.planned_ms, t.started_ms, t.ended_ms, t.repeats, t.safe,
       t.acts, t.admitted_ms, a.id, a.state, a.note,
       COALESCE(a.decided_by = 'runtime', 0), NULL, length(t.arguments) > :chars
  FROM tool_call AS t
  LEFT JOIN approval AS a ON a.tool_call_id = t.id
 WHERE t.run_id = :run
 ORDER BY t.id;

-- stmt: TOOL_CALL_COUNT read params=1 cols=1
SELECT count(*) FROM tool_call WHERE run_id = :run;

-- stmt: TOOL_CALL_NTH read params=2 cols=24
-- :skip of the Run's calls come before it.
SELECT t.id, t.run_id, t.request_id, t.n, t.call_id, t.name, t.arguments,
       t.state, t.cause, t.result, t.summary, t.error, t.planned_ms,
       t.started_ms, t.ended_ms, t.repeats, t.safe, t.acts, t.admitted_ms,
       a.id, a.state, a.note, COALESCE(a.decided_by = 'runtime', 0), t.tool
  FROM tool_call AS t
  LEFT JOIN approval AS a ON a.tool_call_id = t.id
 WHERE t.run_id = :run
 ORDER BY t.id
 LIMIT 1 OFFSET :skip;

-- stmt: TOOL_CALL_NUMBER read params=2 cols=1
SELECT count(*) FROM tool_call WHERE run_id = :run AND id <= :id;

-- stmt: TOOL_CALL_OF_REQUEST read params=1 cols=24
SELECT t.id, t.run_id, t.request_id, t.n, t.call_id, t.name, t.arguments,
       t.state, t.cause, t.result, t.summary, t.error, t.planned_ms,
       t.started_ms, t.ended_ms, t.repeats, t.safe, t.acts, t.admitted_ms,
       a.id, a.state, a.note, COALESCE(a.decided_by = 'runtime', 0), t.tool
  FROM tool_call AS t
  LEFT JOIN approval AS a ON a.tool_call_id = t.id
 WHERE t.request_id = :request
 ORDER BY t.n;

-- stmt: TOOL_CALL_ASKED read params=2 cols=2
-- What a Run has asked a tool, and may still ask: calls that failed or were cut
-- short are asked again.
SELECT id, arguments
  FROM tool_call
 WHERE run_id = :run AND name = :name AND repeats IS NULL
   AND (state = 'planned' OR state = 'sent' OR state = 'done')
 ORDER BY id;

-- stmt: TOOL_CALL_SAME_FAILED read scan params=1 cols=1
-- In how many replies the same call was asked for and failed, at most. It sorts
-- the failed calls of one Run, of which the budget allows few.
SELECT COALESCE(max(times), 0)
  FROM (SELECT count(DISTINCT request_id) AS times
          FROM tool_call
         WHERE run_id = :run AND state = 'failed'
         GROUP BY name, arguments);

-- stmt: TOOL_CALL_FAILED_SO read params=4 cols=1
SELECT EXISTS (SELECT 1 FROM tool_call
                WHERE run_id = :run AND name = :name AND state = 'failed'
                  AND error = :error AND request_id <> :but);

-- stmt: TOOL_CALL_INSERT write params=13 cols=0
INSERT INTO tool_call (run_id, request_id, n, call_id, name, arguments, state,
                       summary, planned_ms, repeats, safe, acts, known,
                       tool)
VALUES (:run, :request, :n, :call_id, :name, :arguments, 'planned', :summary,
        :now_ms, :repeats, :safe, :acts, :known, :tool);

-- stmt: TOOL_CALL_SAY write params=2 cols=0
UPDATE tool_call SET summary = :summary WHERE id = :id AND state = 'sent';

-- stmt: TOOL_CALL_MOVE write params=8 cols=0
UPDATE tool_call
   SET state = :state, cause = :cause, result = :result, summary = :summary,
       error = :error,
       started_ms = CASE WHEN :state = 'sent' THEN :now_ms ELSE started_ms END,
       ended_ms = CASE WHEN :state = 'sent' THEN NULL ELSE :now_ms END
 WHERE id = :id AND state = :from;

-- stmt: TOOL_CALL_SENT_OF_RUN read params=1 cols=1
SELECT id FROM tool_call WHERE run_id = :run AND state = 'sent' ORDER BY id;

-- stmt: TOOL_CALL_PLANNED read params=1 cols=1
SELECT id FROM tool_call WHERE run_id = :run AND state = 'planned' ORDER BY id;

-- stmt: SOURCE_FIND read scan params=2 cols=2
-- Of this Run, or of one that it goes on from: numbers hold over the chain.
WITH RECURSIVE chain (id) AS (
    VALUES (:run)
    UNION ALL
    SELECT run.continues FROM chain JOIN run ON run.id = chain.id
     WHERE run.continues IS NOT NULL)
SELECT s.id, s.n FROM chain JOIN source AS s ON s.run_id = chain.id
 WHERE s.passage = :passage;

-- stmt: SOURCE_NEXT read scan params=1 cols=1
WITH RECURSIVE chain (id) AS (
    VALUES (:run)
    UNION ALL
    SELECT run.continues FROM chain JOIN run ON run.id = chain.id
     WHERE run.continues IS NOT NULL)
SELECT COALESCE(max(s.n), 0) + 1
  FROM chain JOIN source AS s ON s.run_id = chain.id;

-- stmt: SOURCE_INSERT write params=8 cols=0
INSERT INTO source (run_id, tool_call_id, n, passage, title, location, heading,
                    body)
VALUES (:run, :tool_call, :n, :passage, :title, :location, :heading, :body);

-- stmt: SOURCE_GET read params=3 cols=10
SELECT s.id, s.run_id, s.tool_call_id, s.n, s.passage, s.title, s.location,
       s.heading, substr(s.body, 1, :chars), length(s.body) > :chars
  FROM source AS s
  JOIN run ON run.id = s.run_id
 WHERE s.id = :id AND (run.account_id = :account OR :account = 0);

-- stmt: SOURCE_OF_RUN read scan params=2 cols=10
-- Those of the Runs that it goes on from among them. Of each text no more than
-- :chars code points.
WITH RECURSIVE chain (id) AS (
    VALUES (:run)
    UNION ALL
    SELECT run.continues FROM chain JOIN run ON run.id = chain.id
     WHERE run.continues IS NOT NULL)
SELECT s.id, s.run_id, s.tool_call_id, s.n, s.passage, s.title, s.location,
       s.heading, substr(s.body, 1, :chars), length(s.body) > :chars
  FROM chain JOIN source AS s ON s.run_id = chain.id
 ORDER BY s.n;

-- stmt: SOURCE_COUNT read scan params=1 cols=1
WITH RECURSIVE chain (id) AS (
    VALUES (:run)
    UNION ALL
    SELECT run.continues FROM chain JOIN run ON run.id = chain.id
     WHERE run.continues IS NOT NULL)
SELECT count(*) FROM chain JOIN source AS s ON s.run_id = chain.id;

-- stmt: SOURCE_BY_NUMBER read scan params=2 cols=10
WITH RECURSIVE chain (id) AS (
    VALUES (:run)
    UNION ALL
    SELECT run.continues FROM chain JOIN run ON run.id = chain.id
     WHERE run.continues IS NOT NULL)
SELECT s.id, s.run_id, s.tool_call_id, s.n, s.passage, s.title, s.location,
       s.heading, s.body, 0
  FROM chain JOIN source AS s ON s.run_id = chain.id
 WHERE s.n = :n
 LIMIT 1;

-- stmt: PIN_ADD write params=2 cols=0
INSERT INTO pin (run_id, n) VALUES (:run, :n)
ON CONFLICT (run_id, n) DO NOTHING;

-- stmt: PIN_OF_RUN read params=1 cols=1
SELECT n FROM pin WHERE run_id = :run ORDER BY n DESC;

-- stmt: NOTE_INSERT write params=3 cols=0
INSERT INTO note (run_id, body, created_ms) VALUES (:run, :body, :now_ms);

-- stmt: NOTE_OF_RUN read params=1 cols=2
SELECT id, body FROM note WHERE run_id = :run ORDER BY id;

-- stmt: REQUEST_ALL_SENT read scan params=0 cols=1
-- Under way, or left so by a runtime that died.
SELECT run_id FROM request INDEXED BY request_sent WHERE state = 'sent';

-- stmt: TOOL_CALL_ALL_SENT read scan params=0 cols=1
SELECT run_id FROM tool_call INDEXED BY tool_call_sent WHERE state = 'sent';
