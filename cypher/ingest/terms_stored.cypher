// purpose: terms of a corpus
// params: corpus
// since: 5.26
MATCH (t:Term {corpus: $corpus})
RETURN t.id AS id, t.name AS name, t.label AS label, t.chunks AS chunks
