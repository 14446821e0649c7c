-- What the search index is made from.

-- stmt: SEARCHABLE_MESSAGES read params=2 cols=4
SELECT m.id, c.account_id, m.created_ms, m.body
  FROM message AS m
  JOIN conversation AS c ON c.id = m.conversation_id
 WHERE m.id > :after
 ORDER BY m.id
 LIMIT :limit;

-- stmt: SEARCHABLE_ANSWERS read params=2 cols=6
SELECT r.id, r.account_id, r.ended_seq, r.ended_ms, r.title, a.body
  FROM run AS r
  JOIN answer AS a ON a.run_id = r.id
 WHERE r.ended_seq > :after
 ORDER BY r.ended_seq
 LIMIT :limit;

-- stmt: SEARCHABLE_DELETED read scan params=0 cols=1
-- The newest deletion of a conversation; by an index of its own.
SELECT COALESCE(max(seq), 0)
  FROM change INDEXED BY change_deleted
 WHERE kind = 'conversation.deleted';
