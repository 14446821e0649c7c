-- A call that asks what an earlier one of the same Run has asked is not made: it
-- shares the earlier one's outcome.
ALTER TABLE tool_call
    ADD COLUMN repeats INTEGER REFERENCES tool_call (id) ON DELETE SET NULL;
CREATE INDEX tool_call_repeats ON tool_call (repeats)
    WHERE repeats IS NOT NULL;
