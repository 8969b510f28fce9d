// purpose: nearest Sentence embeddings, filtered by corpus inside the search
// params: options
// since: 2026.01
// fallback: schema/vector_sentence_lts
CYPHER 25
CREATE VECTOR INDEX sentence_embedding IF NOT EXISTS
FOR (n:Sentence)
ON n.embedding
WITH [n.corpus]
OPTIONS $options
