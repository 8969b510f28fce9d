// purpose: content of categories
// params: corpus
// since: 5.26
MATCH (n:Category {corpus: $corpus})
RETURN n {.*, embedding: null} AS properties
