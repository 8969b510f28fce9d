// purpose: store results of fields under their records
// params: rows
// since: 5.26
UNWIND $rows AS row
MATCH (e:EvalRecord {id: row.record})
MERGE (f:FieldResult {id: row.properties.id})
SET f = row.properties
MERGE (e)-[:HAS_FIELD]->(f)
