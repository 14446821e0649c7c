-- Documents of accounts, beside those of the shared folders.

-- '' shared, or the name of the account's folder (library_files.h). The path
-- of an owned document is 'library/<owner>/<name>', below the data directory.
ALTER TABLE document ADD COLUMN owner TEXT NOT NULL DEFAULT '';
CREATE INDEX document_owner ON document (owner, path);

-- The passages of owned documents: small, since a search asks it for each
-- passage that fits, most of which are shared.
CREATE TABLE owned (
    seq   INTEGER PRIMARY KEY REFERENCES passage (seq) ON DELETE CASCADE,
    owner TEXT NOT NULL
) STRICT;
