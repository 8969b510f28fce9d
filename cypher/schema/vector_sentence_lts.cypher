// purpose: nearest Sentence embeddings
// params: options
// since: 5.26
CREATE VECTOR INDEX sentence_embedding IF NOT EXISTS
FOR (n:Sentence)
ON n.embedding
OPTIONS $options
