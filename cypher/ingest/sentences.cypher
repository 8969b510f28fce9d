// purpose: store sentences with their vectors
// params: rows
// since: 5.26
UNWIND $rows AS row
MERGE (s:Sentence {id: row.properties.id})
SET s = row.properties
WITH collect([s, row.vector]) AS stored
UNWIND stored AS one
CALL db.create.setNodeVectorProperty(one[0], 'embedding', one[1])
