// purpose: documents whose chunks are not one chain
// params: corpus
// since: 5.26
MATCH (:Corpus {name: $corpus})<-[:IN_CORPUS]-(n:Document)
WITH n, COUNT { (n)<-[:FROM_DOCUMENT]-(:Chunk) } AS chunks,
     COUNT { (n)<-[:FROM_DOCUMENT]-(:Chunk)-[:NEXT_CHUNK]->(:Chunk) } AS next
WHERE chunks <> next + 1
RETURN count(n) AS count, collect(n.id)[..5] AS examples
