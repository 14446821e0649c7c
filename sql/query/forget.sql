-- What is removed as a whole: accounts, and conversations that are too old.

-- stmt: FORGET_ACTIVE read params=1 cols=1
SELECT count(*) FROM run INDEXED BY run_active
 WHERE account_id = :account AND ended_ms IS NULL;

-- stmt: FORGET_CHANGES write params=1 cols=0
DELETE FROM change WHERE account_id = :account;

-- stmt: FORGET_ACCOUNT write scan params=1 cols=0
-- With everything that refers to it. Notifications have no index for it.
DELETE FROM account WHERE id = :account;

-- stmt: FORGET_OLD read scan params=3 cols=3
-- Conversations in which nothing is at work: last touched before :before_ms, or
-- beyond the newest :keep of their account. The oldest first. What a Run came to
-- touches its conversation when it ends, however old the question is.
SELECT id, account_id, touched_ms
  FROM (SELECT id, account_id, touched_ms,
               row_number() OVER (PARTITION BY account_id
                                  ORDER BY touched_ms DESC, id DESC) AS place
          FROM (SELECT id, account_id,
                       max(updated_ms,
                           COALESCE((SELECT max(ended_ms) FROM run
                                      WHERE run.conversation_id =
                                            conversation.id), 0))
                       AS touched_ms
                  FROM conversation)) AS c
 WHERE (touched_ms < :before_ms OR place > :keep)
   AND NOT EXISTS (SELECT 1 FROM run INDEXED BY run_active
                    WHERE run.account_id = c.account_id
                      AND run.ended_ms IS NULL
                      AND run.conversation_id = c.id)
 ORDER BY touched_ms
 LIMIT :limit;

-- stmt: FORGET_TOUCHED read params=1 cols=1
SELECT max(updated_ms,
           COALESCE((SELECT max(ended_ms) FROM run
                      WHERE run.conversation_id = conversation.id), 0))
  FROM conversation WHERE id = :id;
