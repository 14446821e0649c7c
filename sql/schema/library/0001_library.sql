-- The library: documents, their passages, and the search index over them.
-- It holds nothing that the files do not hold, and may be made anew.

CREATE TABLE document (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    path       TEXT    NOT NULL UNIQUE,     -- absolute path of the file
    name       TEXT    NOT NULL,            -- last part of the path
    title      TEXT    NOT NULL,            -- never empty: the name at least
    mtime_ns   INTEGER NOT NULL,            -- Unix nanoseconds; 0: read again
    size_bytes INTEGER NOT NULL CHECK (size_bytes >= 0),
    hash       BLOB    NOT NULL CHECK (length(hash) = 32), -- SHA-256, bytes
    indexed_ms INTEGER NOT NULL,            -- Unix milliseconds
    error      TEXT    NOT NULL             -- '' or why it could not be read
) STRICT;

CREATE INDEX document_name ON document (name);

-- seq numbers the rows of the search index; id is what the world sees, and
-- follows from path, heading and text.
CREATE TABLE passage (
    seq         INTEGER PRIMARY KEY AUTOINCREMENT,
    id          INTEGER NOT NULL UNIQUE CHECK (id > 0),
    document_id INTEGER NOT NULL REFERENCES document (id) ON DELETE CASCADE,
    n           INTEGER NOT NULL CHECK (n >= 0), -- place in it, from 0
    start_hash  INTEGER NOT NULL,           -- of the text's start: finds copies
    links       INTEGER NOT NULL CHECK (links IN (0, 1)), -- mostly links
    heading     TEXT    NOT NULL,           -- 'Outer > Inner', or ''
    text        TEXT    NOT NULL CHECK (text <> '')
) STRICT;

CREATE INDEX passage_document ON passage (document_id, n);

-- Without a copy of the text: what is indexed differs from what is shown (East
-- Asian characters are set apart), and passages are read from their table.
-- Deleting therefore needs the very words that were inserted.
CREATE VIRTUAL TABLE passage_fts USING fts5 (
    title, heading, text,
    content = '',
    tokenize = 'porter unicode61 remove_diacritics 2'
);

-- One row of facts about the runs.
CREATE TABLE state (
    id         INTEGER PRIMARY KEY CHECK (id = 1),
    scanned_ms INTEGER NOT NULL,            -- Unix ms, end of the last; 0: none
    reader     INTEGER NOT NULL             -- version that read all files
) STRICT;

INSERT INTO state (id, scanned_ms, reader) VALUES (1, 0, 0);
