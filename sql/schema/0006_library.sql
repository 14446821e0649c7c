-- Files that an account has put into its library: what the runtime is asked to
-- read, and how the account's pages are told that it has.

-- wanted grows each time that the account's files change or are to be read
-- again; done follows it when a run of the indexer that began later has ended.
CREATE TABLE library_scan (
    account_id INTEGER PRIMARY KEY REFERENCES account (id) ON DELETE CASCADE,
    wanted     INTEGER NOT NULL,
    done       INTEGER NOT NULL CHECK (done <= wanted)
) STRICT;
CREATE INDEX library_scan_open ON library_scan (account_id, wanted)
    WHERE done < wanted;

-- The feed takes one more kind. A CHECK cannot be changed in place.
CREATE TABLE change_new (
    seq             INTEGER PRIMARY KEY AUTOINCREMENT,
    account_id      INTEGER NOT NULL,
    kind            TEXT NOT NULL
                    CHECK (kind = 'answer.part' OR kind = 'run.updated'
                           OR kind = 'message.created' OR kind = 'run.created'
                           OR kind = 'conversation.updated'
                           OR kind = 'request.updated'
                           OR kind = 'tool_call.updated'
                           OR kind = 'handoff.updated'
                           OR kind = 'source.added'
                           OR kind = 'conversation.deleted'
                           OR kind = 'notification.created'
                           OR kind = 'library.updated'),
    conversation_id INTEGER,
    run_id          INTEGER,
    ref             INTEGER,   -- id of the message, handoff, request ...
    revision        INTEGER,   -- answer.part only
    part            INTEGER,
    body            TEXT,
    CHECK ((kind = 'answer.part') = (body IS NOT NULL))
) STRICT;
INSERT INTO change_new (seq, account_id, kind, conversation_id, run_id, ref,
                        revision, part, body)
SELECT seq, account_id, kind, conversation_id, run_id, ref, revision, part, body
  FROM change;
-- Numbers that were given out once are not given out again.
DELETE FROM sqlite_sequence WHERE name = 'change_new';
INSERT INTO sqlite_sequence (name, seq)
SELECT 'change_new', seq FROM sqlite_sequence WHERE name = 'change';
DROP TABLE change;
ALTER TABLE change_new RENAME TO change;
CREATE INDEX change_by_account ON change (account_id, seq);
CREATE UNIQUE INDEX change_part ON change (run_id, revision, part)
    WHERE kind = 'answer.part';
