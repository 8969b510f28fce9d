PRAGMA journal_mode = WAL;
CREATE TABLE IF NOT EXISTS about (name TEXT PRIMARY KEY, value TEXT);
CREATE TABLE IF NOT EXISTS documents (
    number INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT UNIQUE, hash TEXT, chunks INT,
    linked INT, named INT, written INT, names BLOB, found BLOB
);
CREATE INDEX IF NOT EXISTS undone ON documents (id)
    WHERE NOT (linked AND named AND written);
CREATE TABLE IF NOT EXISTS words (
    word INT, document INT, PRIMARY KEY (word, document)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS titles (key TEXT PRIMARY KEY, name TEXT, target TEXT)
    WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS terms (
    name TEXT PRIMARY KEY, chosen TEXT, titled TEXT, chunks INT DEFAULT 0,
    linked INT DEFAULT 0, stored TEXT
) WITHOUT ROWID;
