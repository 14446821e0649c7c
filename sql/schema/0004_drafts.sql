-- A research may publish what it has so far: then the newest revision of its
-- answer is a draft, until another takes its place. An ended Run with a draft
-- has come to no report.
ALTER TABLE run
    ADD COLUMN answer_draft INTEGER NOT NULL DEFAULT 0
        CHECK (answer_draft IN (0, 1));
