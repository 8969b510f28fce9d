// purpose: a Step is found by its id
// params:
// since: 5.26
CREATE CONSTRAINT step_id IF NOT EXISTS
FOR (n:Step)
REQUIRE n.id IS UNIQUE
