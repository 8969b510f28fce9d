// purpose: content of chunks
// params: corpus
// since: 5.26
MATCH (:Corpus {name: $corpus})<-[:IN_CORPUS]-(d:Document)<-[:FROM_DOCUMENT]-(n:Chunk)
RETURN d.id AS document, n {.*, embedding: null} AS properties
