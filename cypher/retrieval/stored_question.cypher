// purpose: read the question of a stored Query
// params: id
// since: 5.26
MATCH (q:Query {id: $id})
WHERE q.text IS :: STRING NOT NULL
RETURN q.text AS text, CASE WHEN q.corpus IS :: STRING NOT NULL THEN q.corpus END AS corpus
LIMIT 1
