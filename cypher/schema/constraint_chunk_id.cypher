// purpose: a Chunk is found by its id
// params: 
// since: 5.26
CREATE CONSTRAINT chunk_id IF NOT EXISTS
FOR (n:Chunk)
REQUIRE n.id IS UNIQUE
