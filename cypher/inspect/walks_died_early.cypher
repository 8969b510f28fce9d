// @title: Questions whose walk died early
// purpose: recorded walks that came to a dead end, or found no start, before they had the sentences asked for
// params: corpus, algorithm, limit
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
  AND ($algorithm IS NULL OR t.algorithm = $algorithm)
  AND t.stopReason IN [
    'no_anchor', 'no_connections', 'no_unvisited_chunk', 'all_candidates_overlap',
    'time_limit'
  ]
  AND t.sentences < coalesce(t.maxSentences, 10)
RETURN
  q.text AS question,
  t.stopReason AS stopReason,
  t.id AS traversal,
  t.algorithm AS algorithm,
  t.sentences AS sentences,
  t.maxSentences AS wanted,
  t.hops AS hops,
  COLLECT {
    MATCH (t)-[:FIRST_STEP]->(:Step)-[:NEXT_STEP]->*(s:Step)
    RETURN s.title
    ORDER BY s.index DESC
    LIMIT 1
  }[0] AS lastTitle
ORDER BY sentences, question, algorithm, traversal
LIMIT coalesce($limit, 25)
