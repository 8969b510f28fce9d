// purpose: delete some themes of a corpus
// params: name, limit
// since: 5.26
MATCH (n:Theme {corpus: $name})
WITH n
LIMIT $limit
DETACH DELETE n
