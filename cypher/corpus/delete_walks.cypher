// purpose: delete some recorded walks of a corpus, with their questions
// params: name, limit
// since: 5.26
MATCH (n:Query|Traversal|Step {corpus: $name})
WITH n
LIMIT $limit
DETACH DELETE n
