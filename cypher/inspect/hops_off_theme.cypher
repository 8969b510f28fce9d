// @title: Hops that left the theme
// purpose: hops of recorded walks between documents without a common theme that are not linked as similar by theme, the least similar first
// params: corpus, algorithm, limit
// since: 5.26
MATCH (t:Traversal)-[:FOR_QUERY]->(q:Query)
WHERE ($corpus IS NULL OR t.corpus = $corpus)
  AND ($algorithm IS NULL OR t.algorithm = $algorithm)
MATCH (t)-[:FIRST_STEP]->(:Step)-[:NEXT_STEP]->*(s:Step)-[:NEXT_STEP]->(n:Step)
WHERE n.hop > 0
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
  q.text AS question,
  t.algorithm AS algorithm,
  n.index AS step,
  a.title AS title,
  COLLECT {
    MATCH (a)-[h:HAS_THEME]->(theme:Theme)
    RETURN theme.name
    ORDER BY h.rank, theme.name
  } AS themes,
  b.title AS otherTitle,
  COLLECT {
    MATCH (b)-[h:HAS_THEME]->(theme:Theme)
    RETURN theme.name
    ORDER BY h.rank, theme.name
  } AS otherThemes,
  round(similarity, 3) AS themeSimilarity,
  round(n.score, 3) AS score,
  t.id AS traversal
ORDER BY similarity, question, algorithm, traversal, step
LIMIT coalesce($limit, 25)
