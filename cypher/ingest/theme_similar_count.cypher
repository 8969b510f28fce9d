// purpose: how many documents a corpus has
// params: corpus
// since: 5.26
RETURN COUNT { MATCH (:Document {corpus: $corpus}) } AS vectors
