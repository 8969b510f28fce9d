// purpose: begin an evaluation, or begin it again
// params: id, properties
// since: 5.26
MERGE (r:EvalRun {id: $id})
SET r = $properties
