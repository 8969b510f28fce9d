// @title: Documents that are most alike by their themes
// purpose: pairs of documents with near theme vectors, each pair once
// params: corpus, title, limit
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
MATCH (d)-[r:THEME_SIMILAR_TO]->(other:Document)
WHERE (d.corpus = $corpus OR $corpus IS NULL AND NOT d.corpus =~ 'eval-.+-[0-9a-f]{8}')
  AND (d.title = $title
    OR $title IS NULL
    AND (d.id < other.id OR NOT EXISTS { (other)-[:THEME_SIMILAR_TO]->(d) }))
RETURN
  d.corpus AS corpus,
  d.title AS title,
  other.title AS similar,
  round(r.score, 3) AS score
ORDER BY r.score DESC, title, similar, d.id, other.id
LIMIT coalesce($limit, 25)
