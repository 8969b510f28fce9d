// purpose: content of sentences
// params: corpus
// since: 5.26
MATCH (n:Sentence {corpus: $corpus})
RETURN n {.*, embedding: null} AS properties
