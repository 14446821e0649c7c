-- The files of a backup.

-- stmt: ARCHIVE_ADD write params=5 cols=0
INSERT INTO sqlar (name, mode, mtime, sz, data)
VALUES (:name, :mode, :mtime, :bytes, :data);

-- stmt: ARCHIVE_NEXT read params=1 cols=2
-- One after another, by name.
SELECT name, data FROM sqlar WHERE name > :after ORDER BY name LIMIT 1;

-- stmt: ARCHIVE_CLEAR write params=0 cols=0
DELETE FROM sqlar;

-- stmt: FACT_NEW_FEED write params=0 cols=0
UPDATE fact SET feed = lower(hex(randomblob(8))) WHERE id = 1;

-- stmt: FACT_ACTIVE_RUNS read scan params=0 cols=1
SELECT count(*) FROM run INDEXED BY run_active WHERE ended_ms IS NULL;

-- stmt: ARCHIVE_PROBE write params=0 cols=0
-- As much as the longest message, to find out whether writing works; taken back
-- in the same transaction. (An update that changes nothing writes nothing.)
INSERT INTO sqlar (name, data) VALUES ('', zeroblob(70000));

-- stmt: ARCHIVE_PROBED write params=0 cols=0
DELETE FROM sqlar WHERE name = '';
