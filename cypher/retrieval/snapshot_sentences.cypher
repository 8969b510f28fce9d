// purpose: sentences of some documents
// params: ids, dimensions
// since: 2025.10
// fallback: retrieval/snapshot_sentences_lts
CYPHER 25
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
  vector(s.embedding, $dimensions, FLOAT32) AS vector
