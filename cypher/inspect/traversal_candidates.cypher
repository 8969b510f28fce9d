// @title: What a traced walk could have chosen
// purpose: the chunks considered at each step, best first; taken is about that choice, an anchor being any step without a hop, and visited is the step that came to the chunk at some time; score is a cosine for the anchor, and after a step of auto what it ranks by; without a traversal the latest walk that has a trace
// params: corpus, traversal, limit
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
WITH
  t,
  EXISTS { (t)-[:CONSIDERED]->(:Chunk) }
    OR EXISTS { (t)-[:FIRST_STEP]->(:Step)-[:NEXT_STEP]->*(:Step)-[:CONSIDERED]->(:Chunk) } AS traced
ORDER BY traced DESC, t.createdAt DESC, t.id
LIMIT 1
CALL (t) {
  MATCH (t)-[r:CONSIDERED]->(c:Chunk)
  RETURN -1 AS at, null AS chosen, r, c
  UNION ALL
  MATCH (t)-[:FIRST_STEP]->(:Step)-[:NEXT_STEP]->*(s:Step)-[r:CONSIDERED]->(c:Chunk)
  OPTIONAL MATCH (s)-[:NEXT_STEP]->(n:Step)
  RETURN s.index AS at, n.chunkId AS chosen, r, c
}
MATCH (c)-[:FROM_DOCUMENT]->(d:Document)
WITH
  t, at, chosen, r, c, d,
  head(COLLECT {
    MATCH (t)-[:FIRST_STEP]->(:Step)-[:NEXT_STEP]->*(s:Step {chunkId: c.id})
    RETURN s
    ORDER BY s.index
    LIMIT 1
  }) AS visit
RETURN
  CASE WHEN at < 0 THEN 'anchor' ELSE 'after step ' + at END AS choice,
  r.rank AS rank,
  round(r.score, 3) AS score,
  coalesce(CASE WHEN at < 0 THEN visit.hop = 0 ELSE c.id = chosen END, false) AS taken,
  visit.index AS visited,
  d.title AS title,
  c.text AS text
ORDER BY at, rank, c.id
LIMIT coalesce($limit, 100)
