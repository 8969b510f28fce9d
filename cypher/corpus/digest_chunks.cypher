// purpose: content of chunks
// params: corpus, vectors
// since: 5.26
MATCH (:Corpus {name: $corpus})<-[:IN_CORPUS]-(d:Document)<-[:FROM_DOCUMENT]-(n:Chunk)
RETURN d.id AS document, n {.*, embedding: CASE WHEN $vectors THEN n.embedding END} AS properties
