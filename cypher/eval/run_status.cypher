// purpose: mark how an evaluation stands
// params: id, status
// since: 5.26
MATCH (r:EvalRun {id: $id})
SET r.status = $status
