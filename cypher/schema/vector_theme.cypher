// purpose: nearest Theme embeddings, filtered by corpus inside the search
// params: options
// since: 2026.01
// fallback: schema/vector_theme_lts
CYPHER 25
CREATE VECTOR INDEX theme_embedding IF NOT EXISTS
FOR (n:Theme)
ON n.embedding
WITH [n.corpus]
OPTIONS $options
