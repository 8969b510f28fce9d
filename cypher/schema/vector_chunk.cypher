// purpose: nearest Chunk embeddings, filtered by corpus inside the search
// params: options
// since: 2026.01
// fallback: schema/vector_chunk_lts
CYPHER 25
CREATE VECTOR INDEX chunk_embedding IF NOT EXISTS
FOR (n:Chunk)
ON n.embedding
WITH [n.corpus]
OPTIONS $options
