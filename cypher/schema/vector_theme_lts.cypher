// purpose: nearest Theme embeddings
// params: options
// since: 5.26
CREATE VECTOR INDEX theme_embedding IF NOT EXISTS
FOR (n:Theme)
ON n.embedding
OPTIONS $options
