-- Tokens, sessions, and who stands behind a secret.

-- stmt: TOKEN_INSERT write params=6 cols=0
INSERT INTO token (account_id, name, scope, hash, created_ms, expires_ms,
                   last_used_ms)
VALUES (:account, :name, :scope, :hash, :now_ms, :expires_ms, 0);

-- stmt: TOKEN_GET read params=2 cols=8
SELECT id, account_id, name, scope, created_ms, expires_ms, last_used_ms,
       revoked_ms
  FROM token
 WHERE id = :id AND account_id = :account;

-- stmt: TOKEN_OWNER read params=1 cols=1
SELECT account_id FROM token WHERE id = :id;

-- stmt: TOKEN_LIST read params=2 cols=8
-- The newest first; what was revoked is gone for whoever looks.
SELECT id, account_id, name, scope, created_ms, expires_ms, last_used_ms,
       revoked_ms
  FROM token
 WHERE account_id = :account AND revoked_ms IS NULL
 ORDER BY id DESC
 LIMIT :limit;

-- stmt: TOKEN_COUNT read params=1 cols=1
SELECT count(*) FROM token WHERE account_id = :account AND revoked_ms IS NULL;

-- stmt: TOKEN_REVOKE write params=3 cols=0
UPDATE token SET revoked_ms = :now_ms
 WHERE id = :id AND account_id = :account AND revoked_ms IS NULL;

-- stmt: TOKEN_BY_HASH read params=2 cols=7
SELECT token.id, token.account_id, account.name, token.scope, token.expires_ms,
       token.last_used_ms, token.hash
  FROM token JOIN account ON account.id = token.account_id
 WHERE token.hash = :hash AND token.revoked_ms IS NULL
   AND token.expires_ms > :now_ms;

-- stmt: TOKEN_STANDS read params=2 cols=1
SELECT 1 FROM token
 WHERE id = :id AND revoked_ms IS NULL AND expires_ms > :now_ms;

-- stmt: TOKEN_USED write params=3 cols=0
UPDATE token SET last_used_ms = :now_ms
 WHERE id = :id AND last_used_ms < :before_ms;

-- stmt: SESSION_INSERT write params=7 cols=0
INSERT INTO session (account_id, token_id, hash, created_ms, expires_ms,
                     seen_ms, agent, address)
VALUES (:account, :token, :hash, :now_ms, :expires_ms, :now_ms, :agent,
        :address);

-- stmt: SESSION_GET read params=2 cols=10
SELECT session.id, session.account_id, token_id, token.name, token.scope,
       session.created_ms, session.expires_ms, seen_ms, agent, address
  FROM session JOIN token ON token.id = session.token_id
 WHERE session.id = :id AND session.account_id = :account;

-- stmt: SESSION_LIST read params=3 cols=10
SELECT session.id, session.account_id, token_id, token.name, token.scope,
       session.created_ms, session.expires_ms, seen_ms, agent, address
  FROM session JOIN token ON token.id = session.token_id
 WHERE session.account_id = :account AND session.expires_ms > :now_ms
 ORDER BY session.id DESC
 LIMIT :limit;

-- stmt: SESSION_BY_HASH read params=2 cols=7
SELECT session.id, session.account_id, account.name, token.scope,
       session.expires_ms, session.seen_ms, session.hash
  FROM session
  JOIN token ON token.id = session.token_id
  JOIN account ON account.id = session.account_id
 WHERE session.hash = :hash AND session.expires_ms > :now_ms
   AND token.revoked_ms IS NULL AND token.expires_ms > :now_ms;

-- stmt: SESSION_STANDS read params=2 cols=1
SELECT 1 FROM session JOIN token ON token.id = session.token_id
 WHERE session.id = :id AND session.expires_ms > :now_ms
   AND token.revoked_ms IS NULL AND token.expires_ms > :now_ms;

-- stmt: SESSION_SEEN write params=3 cols=0
UPDATE session SET seen_ms = :now_ms
 WHERE id = :id AND seen_ms < :before_ms;

-- stmt: SESSION_CLOSE write params=2 cols=0
DELETE FROM session WHERE id = :id AND account_id = :account;

-- stmt: SESSION_OF_TOKEN read params=1 cols=1
SELECT id FROM session WHERE token_id = :token ORDER BY id LIMIT 1;

-- stmt: SESSION_CLOSE_EXPIRED write params=2 cols=0
DELETE FROM session WHERE account_id = :account AND expires_ms <= :now_ms;

-- stmt: SESSION_BEYOND read params=2 cols=1
-- The newest of those that are too many, if :keep are to stay.
SELECT id FROM session WHERE account_id = :account
 ORDER BY id DESC LIMIT 1 OFFSET :keep;

-- stmt: ACCOUNT_LIST read scan params=1 cols=3
SELECT id, name, created_ms FROM account ORDER BY id LIMIT :limit;

-- stmt: SESSION_CLEAR write scan params=0 cols=0
-- Of a restored database: who was logged out since must not be logged in again.
DELETE FROM session;

-- stmt: TOKEN_ALL read scan params=0 cols=3
-- Those that were not revoked, in the order of their hashes.
SELECT id, account_id, hash FROM token
 WHERE revoked_ms IS NULL ORDER BY hash;
