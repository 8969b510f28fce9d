// purpose: delete some judged pairs of a corpus
// params: name, limit
// since: 5.26
MATCH (n:Battle {corpus: $name})
WITH n
LIMIT $limit
DETACH DELETE n
