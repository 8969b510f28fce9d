// purpose: a Category is found by its id
// params: 
// since: 5.26
CREATE CONSTRAINT category_id IF NOT EXISTS
FOR (n:Category)
REQUIRE n.id IS UNIQUE
