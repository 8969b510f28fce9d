// purpose: an Entity is found by its id
// params:
// since: 5.26
CREATE CONSTRAINT entity_id IF NOT EXISTS
FOR (n:Entity)
REQUIRE n.id IS UNIQUE
