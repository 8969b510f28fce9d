// purpose: a Document is found by its id
// params: 
// since: 5.26
CREATE CONSTRAINT document_id IF NOT EXISTS
FOR (n:Document)
REQUIRE n.id IS UNIQUE
