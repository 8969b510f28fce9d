// @title: The strongest similarities between two documents
// purpose: pairs of chunks of different documents with near vectors, each pair once
// params: corpus, title, other, limit
// since: 5.26
CALL () {
  UNWIND CASE WHEN $corpus IS NULL THEN [] ELSE [$corpus] END AS name
  MATCH (d:Document {corpus: name})
  RETURN d
  UNION ALL
  UNWIND CASE WHEN $corpus IS NULL THEN [1] ELSE [] END AS every
  MATCH (d:Document)
  RETURN d
}
MATCH (d)<-[:FROM_DOCUMENT]-(a:Chunk)
  -[r:SIMILAR_TO {scope: 'inter'}]->
  (b:Chunk)-[:FROM_DOCUMENT]->(o:Document)
WHERE (d.corpus = $corpus OR $corpus IS NULL AND NOT d.corpus =~ 'eval-.+-[0-9a-f]{8}')
  AND ($title IS NULL OR d.title = $title)
  AND ($other IS NULL OR o.title = $other)
  AND ($title IS NOT NULL
    OR $other IS NOT NULL
    OR a.id < b.id
    OR NOT EXISTS { (b)-[:SIMILAR_TO]->(a) })
WITH d, a, r, b, o
ORDER BY r.score DESC, a.id, b.id
LIMIT coalesce($limit, 10)
RETURN
  round(r.score, 3) AS score,
  d.title AS title,
  a.text AS text,
  o.title AS otherTitle,
  b.text AS otherText
ORDER BY r.score DESC, a.id, b.id
