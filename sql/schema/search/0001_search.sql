-- The index over messages and answers. It holds nothing that aside.db does not
-- hold, and may be removed: the next search makes it anew.

-- How far it has come, and what it was made from. One row.
CREATE TABLE state (
    id          INTEGER PRIMARY KEY CHECK (id = 1),
    feed        TEXT    NOT NULL,  -- of aside.db; another one: begin anew
    deleted_seq INTEGER NOT NULL,  -- newest deletion then; a newer: begin anew
    message_id  INTEGER NOT NULL,  -- newest message in it
    ended_seq   INTEGER NOT NULL   -- newest end of a Run in it
) STRICT;

INSERT INTO state (id, feed, deleted_seq, message_id, ended_seq)
VALUES (1, '', 0, 0, 0);

-- place orders by time: milliseconds, then what makes it unique. It is also the
-- row of the index.
CREATE TABLE entry (
    place      INTEGER PRIMARY KEY,
    message_id INTEGER,
    run_id     INTEGER,
    CHECK ((message_id IS NULL) <> (run_id IS NULL))
) STRICT;

-- Without a copy of the text, which is read from its table. account is one word
-- for the owner's number.
CREATE VIRTUAL TABLE entry_fts USING fts5 (
    account, text,
    content = '', columnsize = 0,
    tokenize = 'unicode61 remove_diacritics 2'
);
