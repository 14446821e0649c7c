-- Pages of the web as they were read: a long one is read on from here, and one
-- that did not change need not be fetched in full again. What a Run was given of
-- it stands in its sources; this is a copy that may go.
CREATE TABLE page (
    id            INTEGER PRIMARY KEY AUTOINCREMENT,
    account_id    INTEGER NOT NULL REFERENCES account (id) ON DELETE CASCADE,
    run_id        INTEGER NOT NULL REFERENCES run (id) ON DELETE CASCADE,
    url           TEXT NOT NULL,    -- as it was asked for
    location      TEXT NOT NULL,    -- where it was found, after redirects
    etag          TEXT NOT NULL,    -- of its reply; '' if it had none
    last_modified TEXT NOT NULL,    -- likewise
    body          TEXT NOT NULL,    -- JSON: title, passages, links
    fetched_ms    INTEGER NOT NULL,
    UNIQUE (run_id, url)
) STRICT;
CREATE INDEX page_by_account ON page (account_id, id);
CREATE INDEX page_by_location ON page (account_id, location);
