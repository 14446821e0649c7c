-- What a line of the coverage list rests on: a JSON list of the numbers of
-- sources, as the report cites them.
ALTER TABLE coverage
    ADD COLUMN evidence TEXT NOT NULL DEFAULT '[]';
