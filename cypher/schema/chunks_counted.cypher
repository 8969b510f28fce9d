// purpose: how many chunks the database has
// params:
// since: 5.26
MATCH (c:Chunk)
RETURN count(c) AS chunks
