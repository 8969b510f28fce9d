// @title: Chunks that walks visit most
// purpose: chunks by the number of recorded walks and questions that led to them
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
MATCH (q:Query)<-[:FOR_QUERY]-(t)
WHERE (t.corpus = $corpus OR $corpus IS NULL AND NOT t.corpus =~ 'eval-.+-[0-9a-f]{8}')
  AND ($algorithm IS NULL OR t.algorithm = $algorithm)
MATCH (t)-[:FIRST_STEP]->(:Step)-[:NEXT_STEP]->*(s:Step)-[:VISITED]->(c:Chunk)
MATCH (c)-[:FROM_DOCUMENT]->(d:Document)
RETURN
  count(DISTINCT t) AS walks,
  count(DISTINCT q) AS questions,
  round(avg(s.score), 3) AS meanScore,
  d.title AS title,
  c.text AS text,
  c.id AS chunkId
ORDER BY walks DESC, questions DESC, title, chunkId
LIMIT coalesce($limit, 25)
