// purpose: a Redirect is found by its id
// params: 
// since: 5.26
CREATE CONSTRAINT redirect_id IF NOT EXISTS
FOR (n:Redirect)
REQUIRE n.id IS UNIQUE
