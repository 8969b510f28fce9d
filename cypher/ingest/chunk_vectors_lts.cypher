// purpose: every chunk of a corpus with its vector, and whether it lost a neighbour
// params: corpus
// since: 5.26
MATCH (:Corpus {name: $corpus})<-[:IN_CORPUS]-(d:Document)<-[:FROM_DOCUMENT]-(c:Chunk)
RETURN d.id AS document, c.id AS id, c.similarLost AS lost, c.embedding AS vector
