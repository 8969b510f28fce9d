// purpose: each institution is an instance of one class
// params: rows
// since: 5.26
UNWIND $rows AS row
MATCH (c:Custodian {id: row.id})
USING INDEX SEEK c:Custodian(id)
MATCH (o:OntologyClass {id: row.classUri})
USING INDEX SEEK o:OntologyClass(id)
MERGE (c)-[:INSTANCE_OF]->(o)
WITH c, o
MATCH (c)-[former:INSTANCE_OF]->(other)
WHERE other <> o
DELETE former
