// purpose: a Theme is found by its id
// params: 
// since: 5.26
CREATE CONSTRAINT theme_id IF NOT EXISTS
FOR (n:Theme)
REQUIRE n.id IS UNIQUE
