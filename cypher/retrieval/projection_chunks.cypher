// purpose: vectors of all chunks of a corpus
// params: corpus, bound
// since: 2025.10
// fallback: retrieval/projection_chunks_lts
CYPHER 25
MATCH (k:Corpus {name: $corpus})<-[:IN_CORPUS]-(d:Document)<-[:FROM_DOCUMENT]-(n:Chunk)
WHERE n.embedding IS NOT NULL AND ($bound IS NULL OR d.id < $bound)
RETURN vector(n.embedding, coalesce(k.dimensions, size(n.embedding)), FLOAT32) AS vector
