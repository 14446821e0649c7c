-- Pages of the web.

-- stmt: PAGE_OF_RUN read params=2 cols=6
SELECT url, location, etag, last_modified, body, fetched_ms
  FROM page
 WHERE run_id = :run AND url = :url;

-- stmt: PAGE_NEWEST read params=2 cols=6
-- Of all that the Run's account has read.
SELECT url, location, etag, last_modified, body, fetched_ms
  FROM page
 WHERE account_id = (SELECT account_id FROM run WHERE id = :run)
   AND location = :location
 ORDER BY id DESC
 LIMIT 1;

-- stmt: PAGE_PUT write params=8 cols=0
INSERT OR REPLACE INTO page (account_id, run_id, url, location, etag,
                             last_modified, body, fetched_ms)
VALUES (:account, :run, :url, :location, :etag, :last_modified, :body, :now_ms);

-- stmt: PAGE_FORGET write params=2 cols=0
DELETE FROM page
 WHERE id IN (SELECT id FROM page
               WHERE account_id = :account
               ORDER BY id DESC
               LIMIT -1 OFFSET :keep);
