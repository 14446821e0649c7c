-- The feed was made anew for its kinds, and this index of it was not: without
-- it each look for the newest deletion walks the whole feed.
CREATE INDEX change_deleted ON change (seq)
    WHERE kind = 'conversation.deleted';
