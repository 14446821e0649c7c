-- Of the search index.

-- stmt: SEARCH_STATE read params=0 cols=4
SELECT feed, deleted_seq, message_id, ended_seq FROM state WHERE id = 1;

-- stmt: SEARCH_STATE_SET write params=4 cols=0
UPDATE state
   SET feed = :feed, deleted_seq = :deleted_seq, message_id = :message_id,
       ended_seq = :ended_seq
 WHERE id = 1;

-- stmt: SEARCH_CLEAR write scan params=0 cols=0
DELETE FROM entry;

-- stmt: SEARCH_CLEAR_WORDS write params=0 cols=0
INSERT INTO entry_fts (entry_fts) VALUES ('delete-all');

-- stmt: SEARCH_ADD write params=3 cols=0
INSERT INTO entry (place, message_id, run_id)
VALUES (:place, :message, :run);

-- stmt: SEARCH_ADD_WORDS write params=3 cols=0
INSERT INTO entry_fts (rowid, account, text)
VALUES (:place, :account, :text);

-- stmt: SEARCH_FIND read scan params=3 cols=3
-- Newest first.
SELECT e.place, e.message_id, e.run_id
  FROM entry_fts AS f
  JOIN entry AS e ON e.place = f.rowid
 WHERE f.entry_fts MATCH :query AND f.rowid < :before
 ORDER BY f.rowid DESC
 LIMIT :limit;
