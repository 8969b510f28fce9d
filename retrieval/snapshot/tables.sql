-- The rows of a snapshot, and the draft of what its last statements make.
CREATE TABLE document (
  row INTEGER PRIMARY KEY, id TEXT, version INTEGER, chunks INTEGER, edges INTEGER,
  first_chunk INTEGER, first_sentence INTEGER, head TEXT, properties TEXT);
CREATE TABLE chunk (
  row INTEGER PRIMARY KEY, id TEXT, document INTEGER, "index" INTEGER,
  firstSentence INTEGER, lastSentence INTEGER, startChar INTEGER, endChar INTEGER,
  text_start INTEGER, text_stop INTEGER, sentences BLOB, sentence_ids TEXT,
  extras TEXT, terms BLOB, neighbours BLOB, neighbour_ids TEXT);
CREATE TABLE sentence (
  row INTEGER PRIMARY KEY, id TEXT, home INTEGER, "index" INTEGER,
  startChar INTEGER, endChar INTEGER, text BLOB);
CREATE TABLE term (row INTEGER PRIMARY KEY, name TEXT, size INTEGER, chunks BLOB);
CREATE TABLE property (
  name TEXT, kind INTEGER, value, owner INTEGER,
  PRIMARY KEY (name, kind, value, owner)) WITHOUT ROWID;
CREATE TABLE numbers (name TEXT PRIMARY KEY, value BLOB);
CREATE VIRTUAL TABLE word USING fts5(
  text, content = '', tokenize = 'unicode61 remove_diacritics 2');

CREATE TABLE draft.chunk (
  row INTEGER PRIMARY KEY, id TEXT, document, "index", firstSentence, lastSentence,
  startChar, endChar, text_start, text_stop, sentences, sentence_ids, extras);
CREATE TABLE draft.edge (
  chunk INTEGER, place INTEGER, target TEXT, PRIMARY KEY (chunk, place)) WITHOUT ROWID;
CREATE TABLE draft.naming (chunk INTEGER, name TEXT);
CREATE TABLE draft.property (name TEXT, kind INTEGER, value, owner INTEGER);
