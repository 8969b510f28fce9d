// purpose: store institutions, each an instance of one class; a class that is stored stays as it is
// params: rows, heritage
// since: 5.26
UNWIND $rows AS row
MERGE (o:OntologyClass {id: $heritage + row.className})
ON CREATE SET o.name = row.className, o.uri = $heritage + row.className
MERGE (c:Custodian {id: row.id})
SET c = row
MERGE (c)-[:INSTANCE_OF]->(o)
WITH c, o
MATCH (c)-[former:INSTANCE_OF]->(other)
WHERE other <> o
DELETE former
