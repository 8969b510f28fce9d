// purpose: note how many records of an evaluation are stored whole
// params: id, written
// since: 5.26
MATCH (r:EvalRun {id: $id})
SET r.written = $written
