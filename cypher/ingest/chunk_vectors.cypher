// purpose: every chunk of a corpus with its vector, and whether it lost a neighbour
// params: corpus
// since: 2025.10
// fallback: ingest/chunk_vectors_lts
CYPHER 25
MATCH (k:Corpus {name: $corpus})<-[:IN_CORPUS]-(d:Document)<-[:FROM_DOCUMENT]-(c:Chunk)
RETURN d.id AS document, c.id AS id, c.similarLost AS lost, vector(c.embedding, k.dimensions, FLOAT32) AS vector
