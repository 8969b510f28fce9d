// purpose: delete some records and metrics of an evaluation
// params: id, limit
// since: 5.26
MATCH (:EvalRun {id: $id})-[:HAS_RECORD|HAS_METRIC]->(n)
WITH n
LIMIT $limit
DETACH DELETE n
