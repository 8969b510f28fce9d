// purpose: how many chunks a corpus has
// params: corpus
// since: 5.26
RETURN COUNT { MATCH (:Chunk {corpus: $corpus}) } AS vectors
