// purpose: nearest Chunk embeddings
// params: options
// since: 5.26
CREATE VECTOR INDEX chunk_embedding IF NOT EXISTS
FOR (n:Chunk)
ON n.embedding
OPTIONS $options
