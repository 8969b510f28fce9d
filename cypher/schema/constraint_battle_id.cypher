// purpose: a Battle is found by its id
// params:
// since: 5.26
CREATE CONSTRAINT battle_id IF NOT EXISTS
FOR (n:Battle)
REQUIRE n.id IS UNIQUE
