// purpose: other edges of chunks
// params: corpus
// since: 5.26
MATCH (:Corpus {name: $corpus})<-[:IN_CORPUS]-(d:Document)<-[:FROM_DOCUMENT]-(a:Chunk)-[r:HAS_SENTENCE|NEXT_CHUNK|MENTIONS|NAMES]->(b)
RETURN type(r) AS type, a.id AS a, b.id AS b, properties(r) AS properties
