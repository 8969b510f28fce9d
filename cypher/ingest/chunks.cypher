// purpose: store chunks with their vectors and their sentences
// params: rows
// since: 5.26
UNWIND $rows AS row
MATCH (d:Document {id: row.document})
USING INDEX SEEK d:Document(id)
MERGE (c:Chunk {id: row.properties.id})
SET c = row.properties
MERGE (c)-[:FROM_DOCUMENT]->(d)
WITH c, row
CALL db.create.setNodeVectorProperty(c, 'embedding', row.vector)
WITH c, row
UNWIND range(0, size(row.sentences) - 1) AS position
MATCH (s:Sentence {id: row.sentences[position]})
USING INDEX SEEK s:Sentence(id)
MERGE (c)-[h:HAS_SENTENCE]->(s)
SET h.position = position
