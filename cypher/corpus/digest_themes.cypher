// purpose: content of themes
// params: corpus
// since: 5.26
MATCH (n:Theme {corpus: $corpus})
RETURN n {.*, embedding: null} AS properties
