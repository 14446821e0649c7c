-- The feed.

-- stmt: CHANGE_INSERT write params=8 cols=0
INSERT INTO change (account_id, kind, conversation_id, run_id, ref, revision,
                    part, body)
VALUES (:account, :kind, :conversation, :run, :ref, :revision, :part, :body);

-- stmt: CHANGE_RUN_CREATED write params=3 cols=0
-- Two rows in one go. OR FAIL, since to be able to undo the first alone SQLite
-- would copy each page before it changes; the call is undone as a whole.
INSERT OR FAIL INTO change (account_id, kind, conversation_id, run_id)
VALUES (:account, 'run.created', :conversation, :run),
       (:account, 'conversation.updated', :conversation, NULL);

-- stmt: CHANGE_PAGE read params=3 cols=9
SELECT seq, kind, account_id, conversation_id, run_id, ref, revision, part, body
  FROM change
 WHERE account_id = :account AND seq > :after
 ORDER BY seq
 LIMIT :limit;

-- stmt: CHANGE_ACCOUNT_GONE read params=1 cols=1
-- Has an account been deleted since?
SELECT EXISTS (SELECT 1 FROM change INDEXED BY change_deleted
                WHERE kind = 'conversation.deleted' AND seq > :after
                  AND conversation_id IS NULL);

-- stmt: CHANGE_OLDEST read params=0 cols=1
SELECT COALESCE(min(seq), 0) FROM change;

-- stmt: CHANGE_RUNS read params=2 cols=2
-- For the runtime, which serves all accounts.
SELECT seq, run_id FROM change
 WHERE seq > :after AND run_id IS NOT NULL AND kind <> 'answer.part'
   AND seq <= :newest
 ORDER BY seq;
