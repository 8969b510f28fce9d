// purpose: a Concept is found by its id
// params:
// since: 5.26
CREATE CONSTRAINT concept_id IF NOT EXISTS
FOR (n:Concept)
REQUIRE n.id IS UNIQUE
