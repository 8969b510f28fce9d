// purpose: content of redirects
// params: corpus
// since: 5.26
MATCH (n:Redirect {corpus: $corpus})
RETURN n {.*, embedding: null} AS properties
