// purpose: delete some terms of a corpus
// params: name, limit
// since: 5.26
MATCH (n:Term {corpus: $name})
WITH n
LIMIT $limit
DETACH DELETE n
