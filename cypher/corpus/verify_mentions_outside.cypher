// purpose: chunks that mention their own document or one of another corpus
// params: corpus
// since: 5.26
MATCH (:Corpus {name: $corpus})<-[:IN_CORPUS]-(d:Document)<-[:FROM_DOCUMENT]-(n:Chunk)-[:MENTIONS]->(b:Document)
WHERE b = d OR b.corpus <> $corpus
RETURN count(n) AS count, collect(n.id)[..5] AS examples
