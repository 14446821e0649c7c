-- What the indexer reads and writes.

-- stmt: LIBRARY_DOCUMENT_LIST read scan params=0 cols=6
-- Every document, to be compared with the folders.
SELECT id, path, mtime_ns, size_bytes, hash, error
  FROM document
 ORDER BY path;

-- stmt: LIBRARY_DOCUMENT_FIND read params=1 cols=2
-- The document as stored: its id, and the title its passages are indexed with.
SELECT id, title
  FROM document
 WHERE path = :path;

-- stmt: LIBRARY_DOCUMENT_TITLE read params=1 cols=1
SELECT title
  FROM document
 WHERE id = :id;

-- stmt: LIBRARY_DOCUMENT_ADD write params=9 cols=0
INSERT INTO document (path, name, title, mtime_ns, size_bytes, hash,
                      indexed_ms, error, owner)
VALUES (:path, :name, :title, :mtime_ns, :size_bytes, :hash,
        :indexed_ms, :error, :owner);

-- stmt: LIBRARY_DOCUMENT_CHANGE write params=7 cols=0
UPDATE document
   SET title = :title, mtime_ns = :mtime_ns, size_bytes = :size_bytes,
       hash = :hash, indexed_ms = :indexed_ms, error = :error
 WHERE id = :id;

-- stmt: LIBRARY_DOCUMENT_TOUCH write params=3 cols=0
UPDATE document
   SET mtime_ns = :mtime_ns, size_bytes = :size_bytes
 WHERE id = :id;

-- stmt: LIBRARY_DOCUMENT_DELETE write params=1 cols=0
-- Its passages must be gone already: the search index needs their words.
DELETE FROM document
 WHERE id = :id;

-- stmt: LIBRARY_PASSAGE_OF_DOCUMENT read params=1 cols=5
SELECT seq, id, n, heading, text
  FROM passage
 WHERE document_id = :document_id
 ORDER BY n;

-- stmt: LIBRARY_PASSAGE_TAKEN read params=1 cols=1
-- Whether a passage has this id already.
SELECT 1
  FROM passage
 WHERE id = :id;

-- stmt: LIBRARY_PASSAGE_ADD write params=7 cols=0
INSERT INTO passage (id, document_id, n, start_hash, links, heading, text)
VALUES (:id, :document_id, :n, :start_hash, :links, :heading, :text);

-- stmt: LIBRARY_OWNED_ADD write params=2 cols=0
INSERT INTO owned (seq, owner) VALUES (:seq, :owner);

-- stmt: LIBRARY_PASSAGE_PLACE write params=2 cols=0
-- The same words at another place of their document.
UPDATE passage
   SET n = :n
 WHERE seq = :seq;

-- stmt: LIBRARY_PASSAGE_DELETE write params=1 cols=0
DELETE FROM passage
 WHERE seq = :seq;

-- stmt: LIBRARY_FTS_ADD write params=4 cols=0
INSERT INTO passage_fts (rowid, title, heading, text)
VALUES (:seq, :title, :heading, :text);

-- stmt: LIBRARY_FTS_DELETE write params=4 cols=0
-- The words must be those of LIBRARY_FTS_ADD.
INSERT INTO passage_fts (passage_fts, rowid, title, heading, text)
VALUES ('delete', :seq, :title, :heading, :text);

-- stmt: LIBRARY_FTS_OPTIMIZE write params=0 cols=0
INSERT INTO passage_fts (passage_fts) VALUES ('optimize');

-- stmt: LIBRARY_FTS_CHECK write params=0 cols=0
-- Fails unless the parts of the search index fit together.
INSERT INTO passage_fts (passage_fts) VALUES ('integrity-check');

-- stmt: LIBRARY_FTS_MISSING read scan params=0 cols=1
-- Passages without an entry in the search index, and entries without one.
SELECT (SELECT count(*)
          FROM passage
         WHERE seq NOT IN (SELECT rowid FROM passage_fts))
     + (SELECT count(*)
          FROM passage_fts
         WHERE rowid NOT IN (SELECT seq FROM passage));

-- stmt: LIBRARY_SCANNED_SET write params=2 cols=0
UPDATE state
   SET scanned_ms = :now_ms, reader = :reader
 WHERE id = 1;

-- stmt: LIBRARY_READER_GET read params=0 cols=1
SELECT reader
  FROM state
 WHERE id = 1;
