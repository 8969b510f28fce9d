// purpose: a Traversal is found by its id
// params:
// since: 5.26
CREATE CONSTRAINT traversal_id IF NOT EXISTS
FOR (n:Traversal)
REQUIRE n.id IS UNIQUE
