// purpose: documents of a corpus as passages of a data set
// params: ids
// since: 5.26
UNWIND $ids AS id
MATCH (d:Document {id: id})
USING INDEX SEEK d:Document(id)
RETURN
  d.id AS id,
  d.title AS title,
  d.text AS text,
  COLLECT {
    MATCH (d)<-[:FROM_DOCUMENT]-(:Chunk)-[:HAS_SENTENCE]->(s:Sentence)
    WITH DISTINCT s
    RETURN [s.id, s.text]
    ORDER BY s.index, s.id
  } AS sentences
