// purpose: an EvalRun is found by its id
// params:
// since: 5.26
CREATE CONSTRAINT eval_run_id IF NOT EXISTS
FOR (n:EvalRun)
REQUIRE n.id IS UNIQUE
