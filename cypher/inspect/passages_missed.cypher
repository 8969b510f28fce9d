// @title: Why a traced walk did not find a passage
// purpose: for each chunk of the documents of a title, the step that visited it or how it fared: its place by cosine among the anchors, and its place and score after the last step that weighed it, beside what was taken there; without a title the chunks weighed and never visited; without a traversal the latest that has a trace, or the latest where none has
// params: corpus, traversal, title, limit
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
  MATCH (d:Document {corpus: t.corpus})<-[:FROM_DOCUMENT]-(c:Chunk)
  WHERE $title IS NOT NULL AND (d.title = $title OR $title IN d.aliases)
  RETURN c, d
  UNION
  MATCH (t)-[:FIRST_STEP]->(:Step)-[:NEXT_STEP]->*(:Step)-[:CONSIDERED]->(c:Chunk)-[:FROM_DOCUMENT]->(d:Document)
  WHERE $title IS NULL
    AND NOT EXISTS { (t)-[:FIRST_STEP]->(:Step)-[:NEXT_STEP]->*(:Step)-[:VISITED]->(c) }
  RETURN c, d
  UNION
  MATCH (t)-[:CONSIDERED]->(c:Chunk)-[:FROM_DOCUMENT]->(d:Document)
  WHERE $title IS NULL
    AND NOT EXISTS { (t)-[:FIRST_STEP]->(:Step)-[:NEXT_STEP]->*(:Step)-[:VISITED]->(c) }
  RETURN c, d
}
WITH
  t, traced, c, d,
  COLLECT {
    MATCH (t)-[:FIRST_STEP]->(:Step)-[:NEXT_STEP]->*(s:Step)-[:VISITED]->(c)
    RETURN s.index
    ORDER BY s.index
  } AS visits,
  head(COLLECT {
    MATCH (t)-[r:CONSIDERED]->(c)
    RETURN {rank: r.rank, score: r.score}
  }) AS anchor,
  head(COLLECT {
    MATCH (t)-[:FIRST_STEP]->(:Step)-[:NEXT_STEP]->*(s:Step)-[r:CONSIDERED]->(c)
    OPTIONAL MATCH (s)-[:NEXT_STEP]->(n:Step)
    RETURN {step: s.index, rank: r.rank, score: r.score, taken: n.title}
    ORDER BY s.index DESC
    LIMIT 1
  }) AS last
RETURN
  d.title AS title,
  c.index AS chunk,
  CASE
    WHEN size(visits) > 0 THEN 'found at step ' + visits[0]
    WHEN NOT traced THEN 'unknown: the walk has no trace (traverse --trace)'
    WHEN last IS NULL AND anchor IS NULL THEN 'never weighed'
    WHEN last IS NULL THEN 'among the nearest, and not reached'
    WHEN last.taken IS NULL THEN 'left when the walk ended: ' + t.stopReason
    ELSE 'another was taken'
  END AS why,
  anchor.rank AS nearest,
  round(anchor.score, 3) AS cosine,
  last.step AS afterStep,
  last.rank AS rank,
  round(last.score, 3) AS score,
  last.taken AS takenThere,
  c.text AS text
ORDER BY size(visits), coalesce(last.step, -1) DESC, rank, nearest, title, chunk, c.id
LIMIT coalesce($limit, 25)
