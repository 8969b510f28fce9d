// purpose: vectors of all sentences of a corpus
// params: corpus
// since: 5.26
MATCH (k:Corpus {name: $corpus})<-[:IN_CORPUS]-(:Document)<-[:FROM_DOCUMENT]-(:Chunk)-[:HAS_SENTENCE]->(n:Sentence)
WHERE n.embedding IS NOT NULL
WITH DISTINCT k, n
RETURN n.embedding AS vector
