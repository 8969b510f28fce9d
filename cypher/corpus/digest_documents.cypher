// purpose: content of documents
// params: corpus, vectors
// since: 5.26
MATCH (:Corpus {name: $corpus})<-[:IN_CORPUS]-(d:Document)
RETURN d {.*, themeEmbedding: CASE WHEN $vectors THEN d.themeEmbedding END} AS properties
