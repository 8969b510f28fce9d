// purpose: terms of a corpus by name
// params:
// since: 5.26
CREATE INDEX term_name IF NOT EXISTS
FOR (n:Term)
ON (n.corpus, n.name)
