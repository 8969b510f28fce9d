// purpose: an Extraction is found by its id
// params:
// since: 5.26
CREATE CONSTRAINT extraction_id IF NOT EXISTS
FOR (n:Extraction)
REQUIRE n.id IS UNIQUE
