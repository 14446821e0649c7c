-- What is removed as a whole: accounts, and conversations that are too old.

-- stmt: FORGET_ACTIVE read params=1 cols=1
SELECT count(*) FROM run INDEXED BY run_active
 WHERE account_id = :account AND ended_ms IS NULL;

-- stmt: FORGET_CHANGES write params=1 cols=0
DELETE FROM change WHERE account_id = :account;

-- stmt: FORGET_ACCOUNT write scan params=1 cols=0
-- With everything that refers to it. Notifications have no index for it.
DELETE FROM account WHERE id = :account;

-- stmt: FORGET_OLD read scan params=3 cols=2
-- Conversations in which nothing is at work: last touched before :before_ms, or
-- beyond the newest :keep of their account. The oldest first.
SELECT id, account_id
  FROM (SELECT id, account_id, updated_ms,
               row_number() OVER (PARTITION BY account_id
                                  ORDER BY updated_ms DESC, id DESC) AS place
          FROM conversation) AS c
 WHERE (updated_ms < :before_ms OR place > :keep)
   AND NOT EXISTS (SELECT 1 FROM run INDEXED BY run_active
                    WHERE run.account_id = c.account_id
                      AND run.ended_ms IS NULL
                      AND run.conversation_id = c.id)
 ORDER BY updated_ms
 LIMIT :limit;
