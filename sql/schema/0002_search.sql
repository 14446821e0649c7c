-- What the search index asks for: which Runs have ended since, and whether
-- anything was deleted.
CREATE INDEX run_by_end ON run (ended_seq) WHERE ended_seq IS NOT NULL;
CREATE INDEX change_deleted ON change (seq)
    WHERE kind = 'conversation.deleted';
