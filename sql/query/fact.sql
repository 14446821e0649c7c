-- Facts about the database, accounts, the lease and the endpoint.

-- stmt: FACT_FEED read params=0 cols=1
SELECT feed FROM fact WHERE id = 1;

-- stmt: FACT_CREATED read params=0 cols=1
-- A restored database keeps it: by it, two are known to have one beginning.
SELECT created_ms FROM fact WHERE id = 1;

-- stmt: FACT_AS_OF read scan params=0 cols=1
-- sqlite_sequence is a table of a few rows without an index, hence COALESCE
-- over max(); the header says scan for it.
SELECT COALESCE(max(seq), 0) FROM sqlite_sequence WHERE name = 'change';

-- stmt: ACCOUNT_FIND read params=1 cols=1
SELECT id FROM account WHERE name = :name;

-- stmt: ACCOUNT_NAME read params=1 cols=1
SELECT name FROM account WHERE id = :id;

-- stmt: ACCOUNT_INSERT write params=2 cols=0
INSERT INTO account (name, created_ms) VALUES (:name, :now_ms);

-- stmt: LEASE_EPOCH read params=0 cols=1
SELECT epoch FROM lease WHERE id = 1;

-- stmt: LEASE_TAKE write params=3 cols=0
UPDATE lease
   SET epoch = epoch + 1, pid = :pid, boot_id = :boot_id,
       renewed_boot_ms = :boot_ms
 WHERE id = 1;

-- stmt: LEASE_LOOK read scan params=0 cols=3
-- With whether its owner has something to do now. Runs at work and requests
-- under way are few and have small indexes of their own.
SELECT epoch, renewed_boot_ms,
       EXISTS (SELECT 1 FROM run INDEXED BY run_active
                WHERE ended_ms IS NULL AND state = 'running')
       OR EXISTS (SELECT 1 FROM request INDEXED BY request_sent
                   WHERE state = 'sent')
  FROM lease WHERE id = 1;

-- stmt: RUN_COUNT_CRASH write params=1 cols=0
UPDATE run SET crashes = crashes + 1 WHERE id = :id;

-- stmt: LEASE_RENEW write params=2 cols=0
UPDATE lease SET renewed_boot_ms = :boot_ms WHERE id = 1 AND epoch = :epoch;

-- stmt: ENDPOINT_GET read params=0 cols=1
SELECT state FROM endpoint WHERE id = 1;

-- stmt: ENDPOINT_SET write params=2 cols=0
-- Written only when it changes, so that a busy endpoint costs no write.
UPDATE endpoint SET state = :state, changed_ms = :now_ms
 WHERE id = 1 AND state <> :state;
