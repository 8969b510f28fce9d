// @title: Chunks that mention a document
// purpose: where documents are linked or named, by the title of the mentioned one
// params: corpus, title, limit
// since: 5.26
CALL () {
  UNWIND CASE WHEN $corpus IS NULL THEN [] ELSE [$corpus] END AS name
  MATCH (target:Document {corpus: name})
  RETURN target
  UNION ALL
  UNWIND CASE WHEN $corpus IS NULL THEN [1] ELSE [] END AS every
  MATCH (target:Document)
  RETURN target
}
MATCH (target)<-[m:MENTIONS]-(c:Chunk)-[:FROM_DOCUMENT]->(d:Document)
WHERE (target.corpus = $corpus OR $corpus IS NULL AND NOT target.corpus =~ 'eval-.+-[0-9a-f]{8}')
  AND ($title IS NULL OR target.title = $title OR $title IN target.aliases)
RETURN
  target.title AS mentioned,
  d.title AS title,
  c.index AS chunk,
  m.anchor AS anchor,
  c.text AS text
ORDER BY mentioned, title, chunk, c.id
LIMIT coalesce($limit, 25)
