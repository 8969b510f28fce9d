// purpose: sentences of a document with their vectors, to find what supports a fact
// params: document
// since: 5.26
MATCH (:Document {id: $document})<-[:FROM_DOCUMENT]-(:Chunk)-[:HAS_SENTENCE]->(s:Sentence)
WITH DISTINCT s
RETURN s.id AS id, s.embedding AS vector
ORDER BY s.index
