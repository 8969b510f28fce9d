// purpose: store records of an evaluation
// params: run, rows
// since: 5.26
MATCH (r:EvalRun {id: $run})
UNWIND $rows AS row
MERGE (e:EvalRecord {id: row.id})
SET e = row
MERGE (r)-[:HAS_RECORD]->(e)
