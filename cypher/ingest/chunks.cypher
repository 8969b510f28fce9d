// purpose: store chunks with their vectors, those that have one
// params: rows
// since: 5.26
UNWIND $rows AS row
MATCH (d:Document {id: row.document})
USING INDEX SEEK d:Document(id)
MERGE (c:Chunk {id: row.properties.id})
SET c += row.properties
MERGE (c)-[:FROM_DOCUMENT]->(d)
WITH collect([c, row.vector]) AS stored
UNWIND stored AS one
WITH one
WHERE one[1] IS NOT NULL
CALL db.create.setNodeVectorProperty(one[0], 'embedding', one[1])
