-- What the tools of this configuration depend on, as the runtime found it when
-- it last spoke to it: for people, not for the model. No address, token or word
-- of a server is in here.
CREATE TABLE server (
    id         INTEGER PRIMARY KEY,
    kind       TEXT NOT NULL CHECK (kind = 'mcp' OR kind = 'search'),
    name       TEXT NOT NULL,    -- of the configuration
    state      TEXT NOT NULL
               CHECK (state = 'unknown' OR state = 'ok'
                      OR state = 'unauthorized' OR state = 'unreachable'),
    detail     TEXT NOT NULL,    -- a few words, '' if there is nothing to say
    tools      INTEGER NOT NULL, -- that it offers
    changed_ms INTEGER NOT NULL,
    UNIQUE (kind, name)
) STRICT;
