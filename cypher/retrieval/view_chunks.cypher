// purpose: chunks with their vectors
// params: ids, letters
// since: 5.26
UNWIND $ids AS id
MATCH (c:Chunk {id: id})
USING INDEX SEEK c:Chunk(id)
MATCH (c)-[:FROM_DOCUMENT]->(d:Document)
WHERE c.embedding IS NOT NULL
RETURN
  c.id AS id,
  d.id AS document,
  d.title AS title,
  c.index AS index,
  left(c.text, $letters) AS text,
  c.embedding AS vector
