// purpose: vectors of all sentences of a corpus
// params: corpus, bound
// since: 2025.10
// fallback: retrieval/projection_sentences_lts
CYPHER 25
MATCH (k:Corpus {name: $corpus})<-[:IN_CORPUS]-(d:Document)<-[:FROM_DOCUMENT]-(:Chunk)-[:HAS_SENTENCE]->(n:Sentence)
WHERE n.embedding IS NOT NULL AND ($bound IS NULL OR d.id < $bound)
WITH DISTINCT k, n
RETURN vector(n.embedding, coalesce(k.dimensions, size(n.embedding)), FLOAT32) AS vector
