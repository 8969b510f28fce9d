// purpose: sentences of some documents
// params: ids, dimensions
// since: 5.26
UNWIND $ids AS id
MATCH (d:Document {id: id})<-[:FROM_DOCUMENT]-(:Chunk)-[:HAS_SENTENCE]->(s:Sentence)
USING INDEX SEEK d:Document(id)
WITH DISTINCT id, s
RETURN
  id AS document,
  s.id AS id,
  s.text AS text,
  s.index AS index,
  s.startChar AS startChar,
  s.endChar AS endChar,
  CASE WHEN size(s.embedding) = $dimensions THEN s.embedding END AS vector
