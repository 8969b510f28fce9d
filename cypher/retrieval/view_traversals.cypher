// purpose: the last recorded walks
// params: limit
// since: 5.26
MATCH (t:Traversal)
RETURN t.id AS id
ORDER BY t.createdAt DESC, id
LIMIT $limit
