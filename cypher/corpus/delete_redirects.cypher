// purpose: delete some redirects of a corpus
// params: name, limit
// since: 5.26
MATCH (n:Redirect {corpus: $name})
WITH n
LIMIT $limit
DETACH DELETE n
