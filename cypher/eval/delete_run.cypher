// purpose: delete an evaluation whose records are gone
// params: id
// since: 5.26
MATCH (r:EvalRun {id: $id})
DETACH DELETE r
