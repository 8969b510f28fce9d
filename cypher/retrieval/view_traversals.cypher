// purpose: the last recorded walks, of a corpus or of all
// params: corpus, limit
// since: 5.26
MATCH (t:Traversal)
WHERE $corpus IS NULL OR t.corpus = $corpus
RETURN t.id AS id
ORDER BY t.createdAt DESC, id
LIMIT $limit
