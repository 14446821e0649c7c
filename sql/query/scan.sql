-- Whose library is to be read anew.

-- stmt: SCAN_WANT write params=1 cols=0
INSERT INTO library_scan (account_id, wanted, done)
VALUES (:account, 1, 0)
ON CONFLICT (account_id) DO UPDATE SET wanted = wanted + 1;

-- stmt: SCAN_OPEN read params=1 cols=1
-- Whether something is asked for that is not done.
SELECT wanted > done FROM library_scan WHERE account_id = :account;

-- stmt: SCAN_LIST read scan params=0 cols=2
-- All that is asked for: what the index on open ones holds.
SELECT account_id, wanted FROM library_scan WHERE done < wanted;

-- stmt: SCAN_DONE write params=2 cols=0
UPDATE library_scan
   SET done = :wanted
 WHERE account_id = :account AND done < :wanted;

-- stmt: SCAN_RUN_GET read params=0 cols=3
SELECT failures, reason, retry_ms FROM library_run WHERE id = 1;

-- stmt: SCAN_RUN_SET write params=3 cols=0
UPDATE library_run
   SET failures = :failures, reason = :reason, retry_ms = :retry_ms
 WHERE id = 1;

-- stmt: SCAN_ACCOUNTS read scan params=0 cols=2
-- All that have ever asked, as SCAN_LIST.
SELECT account_id, wanted FROM library_scan;
