-- What a server said of its tool when a call of it was planned, as a digest: an
-- approval is of that tool, and of none that only has its name. NULL: a tool of
-- Aside itself, or a call from before this column.
ALTER TABLE tool_call ADD COLUMN tool TEXT;
-- It is asked because the server has changed a tool that was approved.
ALTER TABLE approval ADD COLUMN changed INTEGER NOT NULL DEFAULT 0
    CHECK (changed IN (0, 1));
