// purpose: a Term is found by its id
// params:
// since: 5.26
CREATE CONSTRAINT term_id IF NOT EXISTS
FOR (n:Term)
REQUIRE n.id IS UNIQUE
