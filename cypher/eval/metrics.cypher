// purpose: store metrics of an evaluation and of its records
// params: rows
// since: 5.26
UNWIND $rows AS row
CALL (row) {
  MATCH (o:EvalRun {id: row.of})
  RETURN o
  UNION
  MATCH (o:EvalRecord {id: row.of})
  RETURN o
}
MERGE (m:Metric {id: row.properties.id})
SET m = row.properties
MERGE (o)-[:HAS_METRIC]->(m)
