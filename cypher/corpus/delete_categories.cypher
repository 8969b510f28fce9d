// purpose: delete some categories of a corpus
// params: name, limit
// since: 5.26
MATCH (n:Category {corpus: $name})
WITH n
LIMIT $limit
DETACH DELETE n
