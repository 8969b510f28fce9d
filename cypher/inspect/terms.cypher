// @title: Where a term is named
// purpose: the chunks that name a term, in any case; without one, the terms of most chunks
// params: corpus, term, limit
// since: 5.26
CALL () {
  UNWIND CASE WHEN $corpus IS NULL THEN [] ELSE [$corpus] END AS name
  MATCH (t:Term {corpus: name})
  RETURN t
  UNION ALL
  UNWIND CASE WHEN $corpus IS NULL THEN [1] ELSE [] END AS every
  MATCH (t:Term)
  RETURN t
}
WITH t
WHERE (t.corpus = $corpus OR $corpus IS NULL AND NOT t.corpus =~ 'eval-.+-[0-9a-f]{8}')
  AND ($term IS NULL OR t.name = toLower($term) OR toLower(t.label) = toLower($term))
WITH t
ORDER BY t.chunks DESC, t.name, t.id
LIMIT coalesce($limit, 25)
CALL (t) {
  MATCH (t)<-[:NAMES]-(c:Chunk)-[:FROM_DOCUMENT]->(d:Document)
  WHERE $term IS NOT NULL
  RETURN d.title AS title, c.index AS chunk, c.text AS text
  UNION
  WITH t
  WHERE $term IS NULL OR NOT EXISTS { (t)<-[:NAMES]-(:Chunk) }
  RETURN null AS title, null AS chunk, null AS text
}
RETURN t.label AS term, t.chunks AS chunks, title, chunk, text
ORDER BY chunks DESC, term, title, chunk
LIMIT coalesce($limit, 25)
