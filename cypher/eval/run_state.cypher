// purpose: how an evaluation stands
// params: id
// since: 5.26
MATCH (r:EvalRun {id: $id})
RETURN r.status AS status
