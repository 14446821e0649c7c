-- Whether a call may be made again after a crash was decided when it was planned:
-- the tool may not be known when it matters. All tools so far only read.
ALTER TABLE tool_call
    ADD COLUMN safe INTEGER NOT NULL DEFAULT 0 CHECK (safe IN (0, 1));
UPDATE tool_call SET safe = 1;
