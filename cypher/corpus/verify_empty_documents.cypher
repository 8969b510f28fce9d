// purpose: documents without a chunk
// params: corpus
// since: 5.26
MATCH (:Corpus {name: $corpus})<-[:IN_CORPUS]-(n:Document)
WHERE NOT EXISTS { (n)<-[:FROM_DOCUMENT]-(:Chunk) }
RETURN count(n) AS count, collect(n.id)[..5] AS examples
