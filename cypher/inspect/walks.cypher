// @title: Walks that were recorded
// purpose: recorded walks with their questions, the latest first
// params: corpus, question, algorithm, limit
// since: 5.26
MATCH (t:Traversal)-[:FOR_QUERY]->(q:Query)
WHERE ($corpus IS NULL OR t.corpus = $corpus)
  AND ($question IS NULL OR q.text = $question)
  AND ($algorithm IS NULL OR t.algorithm = $algorithm)
RETURN
  t.createdAt AS time,
  q.text AS question,
  t.algorithm AS algorithm,
  t.sentences AS sentences,
  t.documents AS documents,
  t.hops AS hops,
  t.stopReason AS stopReason,
  round(t.milliseconds, 1) AS milliseconds,
  t.id AS traversal
ORDER BY time DESC, traversal
LIMIT coalesce($limit, 25)
