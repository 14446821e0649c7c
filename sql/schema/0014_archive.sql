-- The files of a backup, as an archive of SQLite: `sqlite3 FILE -A --list` reads
-- it. Empty but in the file that `aside backup` has made.
CREATE TABLE sqlar (
    name  TEXT PRIMARY KEY,  -- 'library/<folder of the account>/<name>'
    mode  INT,               -- as stat(2) tells it
    mtime INT,               -- Unix seconds
    sz    INT,               -- bytes; that many in data: not compressed
    data  BLOB
);
