// purpose: a Gap is found by its id
// params:
// since: 5.26
CREATE CONSTRAINT gap_id IF NOT EXISTS
FOR (n:Gap)
REQUIRE n.id IS UNIQUE
