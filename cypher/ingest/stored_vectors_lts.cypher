// purpose: vectors of the chunks and sentences of documents
// params: ids
// since: 5.26
UNWIND $ids AS id
MATCH (d:Document {id: id})-[:IN_CORPUS]->(k:Corpus)
USING INDEX SEEK d:Document(id)
MATCH (d)<-[:FROM_DOCUMENT]-(c:Chunk)
CALL (c) {
  RETURN c AS text
  UNION
  MATCH (c)-[:HAS_SENTENCE]->(s:Sentence)
  RETURN s AS text
}
WITH DISTINCT k, text
WHERE text.embedding IS NOT NULL
RETURN text.id AS id, text.embedding AS vector
