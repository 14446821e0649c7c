-- What the tools depend on.

-- stmt: SERVER_LIST read scan params=0 cols=6
-- All of them, a few dozen at most.
SELECT kind, name, state, detail, tools, changed_ms
  FROM server
 ORDER BY kind, name;

-- stmt: SERVER_SET write params=6 cols=0
INSERT INTO server (kind, name, state, detail, tools, changed_ms)
VALUES (:kind, :name, :state, :detail, :tools, :now_ms)
ON CONFLICT (kind, name) DO UPDATE
   SET state = excluded.state, detail = excluded.detail,
       tools = excluded.tools, changed_ms = excluded.changed_ms;

-- stmt: SERVER_FORGET write params=0 cols=0
DELETE FROM server;
