// @title: The path of a traversal as a graph
// purpose: question, steps, visited chunks and their documents as paths that a browser draws; without a traversal the latest
// params: corpus, traversal
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
WITH t
WHERE (t.corpus = $corpus OR $corpus IS NULL AND ($traversal IS NOT NULL OR NOT t.corpus =~ 'eval-.+-[0-9a-f]{8}'))
  AND ($traversal IS NULL OR t.id = $traversal)
WITH t
ORDER BY t.createdAt DESC, t.id
LIMIT 1
CALL (t) {
  MATCH path = (t)-[:FOR_QUERY]->(:Query)
  RETURN -2 AS step, 0 AS part, path
  UNION ALL
  MATCH path = (t)-[:FIRST_STEP]->(:Step)
  RETURN -1 AS step, 0 AS part, path
  UNION ALL
  MATCH (t)-[:FIRST_STEP]->(:Step)-[:NEXT_STEP]->*(s:Step)
  MATCH path = (s)-[:VISITED]->(:Chunk)-[:FROM_DOCUMENT]->(:Document)
  RETURN s.index AS step, 0 AS part, path
  UNION ALL
  MATCH (t)-[:FIRST_STEP]->(:Step)-[:NEXT_STEP]->*(s:Step)
  MATCH path = (s)-[:NEXT_STEP]->(:Step)
  RETURN s.index AS step, 1 AS part, path
  UNION ALL
  MATCH (t)-[:FIRST_STEP]->(:Step)-[:NEXT_STEP]->*(s:Step)-[:NEXT_STEP]->(n:Step)
  MATCH (s)-[:VISITED]->(a:Chunk), (n)-[:VISITED]->(b:Chunk)
  MATCH path = (a)-[:SIMILAR_TO]->(b)
  RETURN s.index AS step, 2 AS part, path
}
RETURN path
ORDER BY step, part
