// purpose: questions that were asked of a corpus, the earliest first
// params: corpus, limit
// since: 5.26
MATCH (q:Query {corpus: $corpus})
WHERE q.text IS NOT NULL
RETURN q.text AS question
ORDER BY q.createdAt, q.id
LIMIT $limit
