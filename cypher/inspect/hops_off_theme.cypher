// @title: Hops that left the theme
// purpose: hops of recorded walks between documents without a common theme that are not linked as similar by theme, the least similar first
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
MATCH (t)-[:FIRST_STEP]->(:Step)-[:NEXT_STEP]->*(s:Step)-[:NEXT_STEP]->(n:Step)
WHERE n.hop > 0
WITH DISTINCT t, q, s, n
MATCH (s)-[:VISITED]->(:Chunk)-[:FROM_DOCUMENT]->(a:Document)
MATCH (n)-[:VISITED]->(:Chunk)-[:FROM_DOCUMENT]->(b:Document)
WHERE a <> b
  AND EXISTS { (a)-[:HAS_THEME]->(:Theme) }
  AND EXISTS { (b)-[:HAS_THEME]->(:Theme) }
  AND NOT EXISTS { (a)-[:HAS_THEME]->(:Theme)<-[:HAS_THEME]-(b) }
  AND NOT EXISTS { (a)-[:THEME_SIMILAR_TO]-(b) }
WITH
  *,
  2 * vector.similarity.cosine(a.themeEmbedding, b.themeEmbedding) - 1 AS similarity
RETURN
  round(similarity, 3) AS themeSimilarity,
  a.title AS title,
  b.title AS otherTitle,
  t.id AS traversal,
  n.index AS step,
  q.text AS question,
  t.algorithm AS algorithm,
  round(n.score, 3) AS score,
  COLLECT {
    MATCH (a)-[h:HAS_THEME]->(theme:Theme)
    RETURN theme.name
    ORDER BY h.rank, theme.name
  } AS themes,
  COLLECT {
    MATCH (b)-[h:HAS_THEME]->(theme:Theme)
    RETURN theme.name
    ORDER BY h.rank, theme.name
  } AS otherThemes
ORDER BY similarity, question, algorithm, traversal, step
LIMIT coalesce($limit, 25)
