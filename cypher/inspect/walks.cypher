// @title: Walks that were recorded
// purpose: recorded walks with their questions, the latest first
// params: corpus, question, algorithm, limit
// since: 5.26
CALL () {
  UNWIND CASE WHEN $corpus IS NULL THEN [] ELSE [$corpus] END AS name
  MATCH (t:Traversal {corpus: name})
  RETURN t
  UNION ALL
  UNWIND CASE WHEN $corpus IS NULL THEN [1] ELSE [] END AS every
  MATCH (t:Traversal)
  RETURN t
}
MATCH (t)-[:FOR_QUERY]->(q:Query)
WHERE (t.corpus = $corpus OR $corpus IS NULL AND NOT t.corpus =~ 'eval-.+-[0-9a-f]{8}')
  AND ($question IS NULL OR q.text = $question)
  AND ($algorithm IS NULL OR t.algorithm = $algorithm)
RETURN
  q.text AS question,
  t.algorithm AS algorithm,
  t.hops AS hops,
  t.sentences AS sentences,
  t.stopReason AS stopReason,
  t.id AS traversal,
  t.createdAt AS time,
  t.documents AS documents,
  round(t.milliseconds, 1) AS milliseconds
ORDER BY time DESC, traversal
LIMIT coalesce($limit, 25)
