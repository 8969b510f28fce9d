// purpose: similarity edges between chunks
// params: corpus
// since: 5.26
MATCH (:Corpus {name: $corpus})<-[:IN_CORPUS]-(d:Document)<-[:FROM_DOCUMENT]-(a:Chunk)-[r:SIMILAR_TO]->(b:Chunk)
RETURN a.id AS a, b.id AS b, properties(r) AS properties
