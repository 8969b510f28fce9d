// purpose: a Fact is found by its id
// params:
// since: 5.26
CREATE CONSTRAINT fact_id IF NOT EXISTS
FOR (n:Fact)
REQUIRE n.id IS UNIQUE
