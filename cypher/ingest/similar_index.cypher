// purpose: the vector index of chunks, where it is ready
// params:
// since: 5.26
SHOW VECTOR INDEXES YIELD name, state
WHERE name = 'chunk_embedding' AND state = 'ONLINE'
RETURN name
