-- What the runtime asks of the library.

-- stmt: LIBRARY_SEARCH read scan params=4 cols=6
-- The best passages for a query, best first, of the shared documents and the
-- owner's ('': shared ones alone); of those that fit, the newest
-- :ranked are looked at. The weights are those of title, heading and text;
-- bm25 is smaller for the better one. The last column is the number of
-- passages in the document.
SELECT f.rowid, p.document_id, p.start_hash, p.links, f.score,
       (SELECT max(d.n) + 1 FROM passage AS d
         WHERE d.document_id = p.document_id)
  FROM (SELECT rowid, score
          FROM (SELECT rowid, bm25(passage_fts, 2.0, 3.0, 1.0) AS score
                  FROM passage_fts
                 WHERE passage_fts MATCH :query
                   AND NOT EXISTS (SELECT 1 FROM owned
                                    WHERE owned.seq = passage_fts.rowid
                                      AND owned.owner <> :owner)
                 ORDER BY rowid DESC
                 LIMIT :ranked)
         ORDER BY score
         LIMIT :limit) AS f
  JOIN passage AS p ON p.seq = f.rowid
 ORDER BY f.score, f.rowid;

-- stmt: LIBRARY_TERM_COUNT read scan params=3 cols=1
-- How many passages hold a term; counting ends at the limit.
SELECT count(*)
  FROM (SELECT 1
          FROM passage_fts
         WHERE passage_fts MATCH :query
           AND NOT EXISTS (SELECT 1 FROM owned
                            WHERE owned.seq = passage_fts.rowid
                              AND owned.owner <> :owner)
         LIMIT :limit);

-- stmt: LIBRARY_PASSAGE_GET read params=1 cols=6
SELECT p.id, p.n, d.title, d.path, p.heading, p.text
  FROM passage AS p
  JOIN document AS d ON d.id = p.document_id
 WHERE p.seq = :seq;

-- stmt: LIBRARY_PASSAGE_FIND read params=2 cols=2
SELECT p.document_id, p.n
  FROM passage AS p
  JOIN document AS d ON d.id = p.document_id
 WHERE p.id = :id AND (d.owner = '' OR d.owner = :owner);

-- stmt: LIBRARY_DOCUMENT_BY_NAME read params=2 cols=2
-- Documents whose path ends in this name.
SELECT id, path
  FROM document
 WHERE name = :name AND (owner = '' OR owner = :owner)
 LIMIT 1000;

-- stmt: LIBRARY_DOCUMENT_GET read params=1 cols=3
SELECT d.title, d.path,
       (SELECT count(*) FROM passage AS p WHERE p.document_id = d.id)
  FROM document AS d
 WHERE d.id = :id;

-- stmt: LIBRARY_PASSAGE_FROM read params=3 cols=4
-- The passages of a document in order, from one on.
SELECT id, n, heading, text
  FROM passage
 WHERE document_id = :document_id AND n >= :from
 ORDER BY n
 LIMIT :limit;

-- stmt: LIBRARY_DOCUMENT_PAGE read params=3 cols=6
-- An owner's documents ('': shared ones) by path, with their passages.
SELECT d.path, d.mtime_ns, d.size_bytes, d.error, d.title,
       (SELECT count(*) FROM passage AS p WHERE p.document_id = d.id)
  FROM document AS d
 WHERE d.owner = :owner AND d.path > :after
 ORDER BY d.path
 LIMIT :limit;

-- stmt: LIBRARY_DOCUMENT_COUNT read params=1 cols=1
SELECT count(*) FROM document WHERE owner = :owner;

-- stmt: LIBRARY_STATS read scan params=0 cols=4
SELECT (SELECT count(*) FROM document WHERE error = ''),
       (SELECT count(*) FROM document WHERE error <> ''),
       (SELECT count(*) FROM passage),
       (SELECT scanned_ms FROM state WHERE id = 1);
