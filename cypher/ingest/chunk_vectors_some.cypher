// purpose: some chunks with their vectors
// params: ids
// since: 2025.10
// fallback: ingest/chunk_vectors_some_lts
CYPHER 25
UNWIND $ids AS id
MATCH (c:Chunk {id: id})-[:FROM_DOCUMENT]->(d:Document)-[:IN_CORPUS]->(k:Corpus)
USING INDEX SEEK c:Chunk(id)
RETURN d.id AS document, id, c.similarLost AS lost, vector(c.embedding, k.dimensions, FLOAT32) AS vector
