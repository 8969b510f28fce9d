// purpose: an EvalRecord is found by its id
// params:
// since: 5.26
CREATE CONSTRAINT eval_record_id IF NOT EXISTS
FOR (n:EvalRecord)
REQUIRE n.id IS UNIQUE
