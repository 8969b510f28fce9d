// purpose: store sentences with their vectors, those that have one
// params: rows
// since: 5.26
UNWIND $rows AS row
MERGE (s:Sentence {id: row.properties.id})
SET s += row.properties
WITH collect([s, row.vector]) AS stored
UNWIND stored AS one
WITH one
WHERE one[1] IS NOT NULL
CALL db.create.setNodeVectorProperty(one[0], 'embedding', one[1])
