// purpose: sentences of documents that are replaced or deleted, but for those kept
// params: ids, kept
// since: 5.26
UNWIND $ids AS id
MATCH (x:Document {id: id})<-[:FROM_DOCUMENT]-(:Chunk)-[:HAS_SENTENCE]->(s:Sentence)
USING INDEX SEEK x:Document(id)
WHERE NOT s.id IN $kept
WITH DISTINCT s
DETACH DELETE s
