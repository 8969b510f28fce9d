// @title: What a traced walk could have chosen
// purpose: the chunks considered at each step, best first; score is a cosine for the anchor, and after a step of auto what it ranks by; of a walk recorded with its trace, without a traversal the latest
// params: corpus, traversal, limit
// since: 5.26
MATCH (t:Traversal)
WHERE ($corpus IS NULL OR t.corpus = $corpus)
  AND ($traversal IS NULL OR t.id = $traversal)
WITH t
ORDER BY t.createdAt DESC, t.id
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
OPTIONAL MATCH (t)-[:FIRST_STEP]->(first:Step)
RETURN
  CASE WHEN at < 0 THEN 'anchor' ELSE 'after step ' + at END AS choice,
  r.rank AS rank,
  round(r.score, 3) AS score,
  coalesce(c.id = CASE WHEN at < 0 THEN first.chunkId ELSE chosen END, false) AS taken,
  d.title AS title,
  c.text AS text
ORDER BY at, rank, c.id
LIMIT coalesce($limit, 100)
