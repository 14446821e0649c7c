-- How the library's indexer fares: a run of it that failed as a whole is made
-- again by itself, and until one has ended well this says so. One row.
CREATE TABLE library_run (
    id       INTEGER PRIMARY KEY CHECK (id = 1),
    failures INTEGER NOT NULL CHECK (failures >= 0), -- one after another
    reason   TEXT NOT NULL,     -- of the last failure; ''
    retry_ms INTEGER NOT NULL,  -- Unix milliseconds: the next run; 0
    CHECK ((failures = 0) = (reason = '') AND (failures = 0) = (retry_ms = 0))
) STRICT;
INSERT INTO library_run (id, failures, reason, retry_ms) VALUES (1, 0, '', 0);
