-- Who may ask, with auth = token: tokens, and the sessions that browsers open
-- with them. Of a secret only its hash is here.
CREATE TABLE token (
    id           INTEGER PRIMARY KEY AUTOINCREMENT,
    account_id   INTEGER NOT NULL REFERENCES account (id) ON DELETE CASCADE,
    name         TEXT NOT NULL,      -- for people, to tell one from another
    scope        TEXT NOT NULL
                 CHECK (scope = 'read' OR scope = 'write' OR scope = 'admin'),
    hash         BLOB NOT NULL UNIQUE CHECK (length(hash) = 32),
    created_ms   INTEGER NOT NULL,
    expires_ms   INTEGER NOT NULL,
    last_used_ms INTEGER NOT NULL,   -- 0: never; at most once a minute
    revoked_ms   INTEGER             -- it stays, so that its name can be told
) STRICT;
CREATE INDEX token_by_account ON token (account_id, id);

-- Has its token's scope, and ends with it. An ended session leaves.
CREATE TABLE session (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    account_id INTEGER NOT NULL REFERENCES account (id) ON DELETE CASCADE,
    token_id   INTEGER NOT NULL REFERENCES token (id) ON DELETE CASCADE,
    hash       BLOB NOT NULL UNIQUE CHECK (length(hash) = 32),
    created_ms INTEGER NOT NULL,
    expires_ms INTEGER NOT NULL,     -- not after its token
    seen_ms    INTEGER NOT NULL,     -- at most once a minute
    agent      TEXT NOT NULL,        -- what the browser calls itself
    address    TEXT NOT NULL         -- from where it was opened
) STRICT;
CREATE INDEX session_by_account ON session (account_id, id);
CREATE INDEX session_by_token ON session (token_id);

ALTER TABLE idempotency ADD COLUMN token_id INTEGER;
