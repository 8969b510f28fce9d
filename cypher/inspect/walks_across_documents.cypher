// @title: Walks that cross documents
// purpose: recorded walks with hops from one document to another, those with most first
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
WITH
  t,
  q,
  COLLECT {
    MATCH (t)-[:FIRST_STEP]->(:Step)-[:NEXT_STEP]->*(s:Step)-[:NEXT_STEP]->(n:Step)
    WHERE n.hop > 0 AND s.documentId <> n.documentId
    RETURN s.title + ' -> ' + n.title
    ORDER BY s.index
  } AS crossings
WHERE size(crossings) > 0
RETURN
  size(crossings) AS crossed,
  q.text AS question,
  t.id AS traversal,
  crossings,
  t.algorithm AS algorithm,
  t.hops AS hops
ORDER BY crossed DESC, question, algorithm, traversal
LIMIT coalesce($limit, 25)
