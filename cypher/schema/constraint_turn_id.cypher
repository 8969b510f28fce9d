// purpose: a Turn is found by its id
// params:
// since: 5.26
CREATE CONSTRAINT turn_id IF NOT EXISTS
FOR (n:Turn)
REQUIRE n.id IS UNIQUE
