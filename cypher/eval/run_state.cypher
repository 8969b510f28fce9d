// purpose: how far an evaluation is stored
// params: id
// since: 5.26
MATCH (r:EvalRun {id: $id})
RETURN r.status AS status, r.written AS written
