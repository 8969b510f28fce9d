// purpose: content of themes
// params: corpus, vectors
// since: 5.26
MATCH (n:Theme {corpus: $corpus})
RETURN n {.*, embedding: CASE WHEN $vectors THEN n.embedding END} AS properties
