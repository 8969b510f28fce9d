// purpose: store sentences with their vectors
// params: rows
// since: 5.26
UNWIND $rows AS row
MERGE (s:Sentence {id: row.properties.id})
SET s = row.properties
WITH s, row
CALL db.create.setNodeVectorProperty(s, 'embedding', row.vector)
