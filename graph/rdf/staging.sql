-- Triples of a file, its blank nodes, and what subjects and statements became.
PRAGMA journal_mode = OFF;
PRAGMA synchronous = OFF;
CREATE TABLE triple (s TEXT, p TEXT, o TEXT, kind TEXT, language TEXT);
CREATE TABLE blank (number INTEGER PRIMARY KEY, label TEXT UNIQUE);
CREATE TABLE node (iri TEXT PRIMARY KEY, label TEXT, property TEXT, key TEXT);
CREATE TABLE edge (s TEXT, name TEXT, o TEXT, UNIQUE (s, name, o));
CREATE TABLE stated (s TEXT, name TEXT, o TEXT, iri TEXT UNIQUE);
CREATE INDEX by_edge ON stated (s, name, o);
