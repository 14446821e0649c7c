-- Conversations and messages.

-- stmt: CONVERSATION_GET read params=2 cols=7
-- :account 0 stands for any account.
SELECT id, account_id, title, created_ms, updated_ms,
       (SELECT count(*) FROM run INDEXED BY run_active
         WHERE run.account_id = conversation.account_id
           AND run.ended_ms IS NULL
           AND run.conversation_id = conversation.id),
       (SELECT count(*) FROM notification
          JOIN run ON run.id = notification.run_id
         WHERE notification.account_id = conversation.account_id
           AND notification.seen_ms IS NULL
           AND run.conversation_id = conversation.id)
  FROM conversation
 WHERE id = :id AND (account_id = :account OR :account = 0);

-- stmt: CONVERSATION_LIST read params=2 cols=7
SELECT id, account_id, title, created_ms, updated_ms,
       (SELECT count(*) FROM run INDEXED BY run_active
         WHERE run.account_id = conversation.account_id
           AND run.ended_ms IS NULL
           AND run.conversation_id = conversation.id),
       (SELECT count(*) FROM notification
          JOIN run ON run.id = notification.run_id
         WHERE notification.account_id = conversation.account_id
           AND notification.seen_ms IS NULL
           AND run.conversation_id = conversation.id)
  FROM conversation
 WHERE account_id = :account
 ORDER BY updated_ms DESC
 LIMIT :limit;

-- stmt: CONVERSATION_OWNER read params=1 cols=1
SELECT account_id FROM conversation WHERE id = :id;

-- stmt: CONVERSATION_INSERT write params=3 cols=0
INSERT INTO conversation (account_id, title, created_ms, updated_ms)
VALUES (:account, :title, :now_ms, :now_ms);

-- stmt: CONVERSATION_RENAME write params=2 cols=0
UPDATE conversation SET title = :title WHERE id = :id;

-- stmt: CONVERSATION_TOUCH write params=3 cols=0
-- The first message names a conversation that has no title.
UPDATE conversation
   SET updated_ms = max(updated_ms, :now_ms),
       title = CASE WHEN title = '' THEN :title ELSE title END
 WHERE id = :id;

-- stmt: CONVERSATION_DELETE write params=1 cols=0
DELETE FROM conversation WHERE id = :id;

-- stmt: CONVERSATION_SEEN write params=3 cols=0
UPDATE notification SET seen_ms = :now_ms
 WHERE account_id = :account AND seen_ms IS NULL
   AND run_id IN (SELECT id FROM run WHERE conversation_id = :id);

-- stmt: CONVERSATION_FORGET_PARTS write params=1 cols=0
-- Texts of answers in the feed go with the conversation.
DELETE FROM change
 WHERE kind = 'answer.part'
   AND run_id IN (SELECT id FROM run WHERE conversation_id = :id);

-- stmt: MESSAGE_INSERT write params=3 cols=0
INSERT INTO message (conversation_id, body, created_ms)
VALUES (:conversation, :body, :now_ms);

-- stmt: MESSAGE_GET read params=2 cols=5
SELECT m.id, m.conversation_id, m.body, m.created_ms,
       (SELECT run.id FROM run WHERE run.message_id = m.id)
  FROM message AS m
  JOIN conversation AS c ON c.id = m.conversation_id
 WHERE m.id = :id AND (c.account_id = :account OR :account = 0);

-- stmt: MESSAGE_PAGE read params=3 cols=5
-- Newest first; the caller turns the page around. :before is above the end
-- where there is no bound.
SELECT m.id, m.conversation_id, m.body, m.created_ms,
       (SELECT run.id FROM run WHERE run.message_id = m.id)
  FROM message AS m
 WHERE m.conversation_id = :conversation AND m.id < :before
 ORDER BY m.id DESC
 LIMIT :limit;

-- stmt: MESSAGE_HANDOFFS read params=1 cols=1
SELECT id FROM handoff WHERE message_id = :message ORDER BY run_id;
