// purpose: the chunks of a corpus with their documents, in order
// params: corpus
// since: 5.26
MATCH (:Corpus {name: $corpus})<-[:IN_CORPUS]-(d:Document)<-[:FROM_DOCUMENT]-(c:Chunk)
RETURN c.id AS id, d.id AS document
ORDER BY document, c.index, id
