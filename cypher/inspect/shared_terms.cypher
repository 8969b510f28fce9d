// @title: Terms that connect documents
// purpose: the rarest terms that two documents both name, and which others name them
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
MATCH (d)<-[:FROM_DOCUMENT]-(:Chunk)-[:NAMES]->(t:Term)
WHERE (d.corpus = $corpus OR $corpus IS NULL AND NOT d.corpus =~ 'eval-.+-[0-9a-f]{8}')
  AND ($title IS NULL OR d.title = $title OR $title IN d.aliases)
WITH DISTINCT d, t
MATCH (t)<-[:NAMES]-(:Chunk)-[:FROM_DOCUMENT]->(o:Document)
WHERE o <> d
  AND ($other IS NULL OR o.title = $other OR $other IN o.aliases)
  AND ($title IS NOT NULL OR d.id < o.id)
WITH DISTINCT d, t, o
ORDER BY o.title, o.id
RETURN t.label AS term, t.chunks AS chunks, d.title AS title, collect(o.title) AS others
ORDER BY chunks, size(others), term, title
LIMIT coalesce($limit, 25)
