// purpose: content of sentences
// params: corpus, vectors
// since: 5.26
MATCH (n:Sentence {corpus: $corpus})
RETURN n {.*, embedding: CASE WHEN $vectors THEN n.embedding END} AS properties
