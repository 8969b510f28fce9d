// purpose: content of documents
// params: corpus
// since: 5.26
MATCH (:Corpus {name: $corpus})<-[:IN_CORPUS]-(d:Document)
RETURN d {.*, themeEmbedding: null} AS properties
