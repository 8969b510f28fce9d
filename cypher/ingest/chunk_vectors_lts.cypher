// purpose: chunks of a corpus, or of documents, with their vectors
// params: corpus, documents
// since: 5.26
MATCH (:Corpus {name: $corpus})<-[:IN_CORPUS]-(d:Document)
WHERE $documents IS NULL OR d.id IN $documents
MATCH (d)<-[:FROM_DOCUMENT]-(c:Chunk)
RETURN d.id AS document, c.id AS id, c.corpusVersion AS since, c.embedding AS vector
