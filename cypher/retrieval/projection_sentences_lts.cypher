// purpose: vectors of all sentences of a corpus
// params: corpus, bound
// since: 5.26
MATCH (k:Corpus {name: $corpus})<-[:IN_CORPUS]-(d:Document)<-[:FROM_DOCUMENT]-(:Chunk)-[:HAS_SENTENCE]->(n:Sentence)
WHERE n.embedding IS NOT NULL AND ($bound IS NULL OR d.id < $bound)
WITH DISTINCT k, n
RETURN n.embedding AS vector
