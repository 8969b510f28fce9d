// purpose: a Sentence is found by its id
// params: 
// since: 5.26
CREATE CONSTRAINT sentence_id IF NOT EXISTS
FOR (n:Sentence)
REQUIRE n.id IS UNIQUE
