-- How much of a request's input the provider took from its cache of prompts.
ALTER TABLE request
    ADD COLUMN cached_tokens INTEGER;  -- of input_tokens; null: not told

-- Passages that a research wants to have before it word for word, however long
-- it gets: by the number that they are cited by.
CREATE TABLE pin (
    run_id INTEGER NOT NULL REFERENCES run (id) ON DELETE CASCADE,
    n      INTEGER NOT NULL,
    PRIMARY KEY (run_id, n)
) STRICT, WITHOUT ROWID;
