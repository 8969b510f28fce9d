// @title: The steps of a traversal
// purpose: what a walk visited and found, one step a row; without a traversal the latest
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
MATCH (t)-[:FIRST_STEP]->(:Step)-[:NEXT_STEP]->*(s:Step)
RETURN
  s.index AS step,
  s.hop AS hop,
  s.title AS title,
  round(s.score, 3) AS score,
  coalesce(
    reduce(
      text = null,
      found IN COLLECT {
        MATCH (s)-[p:PICKED]->(n:Sentence)
        RETURN n.text
        ORDER BY p.rank
      } | coalesce(text + ' ', '') + found
    ),
    ''
  ) AS found,
  s.reason AS reason,
  t.algorithm AS algorithm,
  round(s.milliseconds, 2) AS milliseconds,
  EXISTS { (s)-[:VISITED]->(:Chunk) } AS stored,
  s.text AS text
ORDER BY step
