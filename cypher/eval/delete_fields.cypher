// purpose: delete some results of fields, and metrics of records, of an evaluation
// params: id, limit
// since: 5.26
MATCH (:EvalRun {id: $id})-[:HAS_RECORD]->()-[:HAS_FIELD|HAS_METRIC]->(n)
WITH n
LIMIT $limit
DETACH DELETE n
