// purpose: begin an evaluation, or find one that was begun before
// params: id, properties
// since: 5.26
MERGE (r:EvalRun {id: $id})
  ON CREATE SET r = $properties
