-- Calls that the policy let through, by account, day and tool: what the limits of
-- a day count. The calls' own rows go with their conversation, these do not.
CREATE TABLE tool_day (
    account_id INTEGER NOT NULL REFERENCES account (id) ON DELETE CASCADE,
    day        INTEGER NOT NULL,  -- since 1970, UTC
    name       TEXT NOT NULL,
    calls      INTEGER NOT NULL,
    PRIMARY KEY (account_id, day, name)
) STRICT, WITHOUT ROWID;

INSERT INTO tool_day (account_id, day, name, calls)
SELECT run.account_id, t.admitted_ms / 86400000, t.name, count(*)
  FROM tool_call AS t JOIN run ON run.id = t.run_id
 WHERE t.admitted_ms IS NOT NULL
 GROUP BY 1, 2, 3;
DROP INDEX tool_call_admitted;
