// purpose: a Query is found by its id
// params:
// since: 5.26
CREATE CONSTRAINT query_id IF NOT EXISTS
FOR (n:Query)
REQUIRE n.id IS UNIQUE
