// purpose: content of terms
// params: corpus
// since: 5.26
MATCH (n:Term {corpus: $corpus})
RETURN n {.*} AS properties
