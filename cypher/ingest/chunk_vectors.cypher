// purpose: chunks of a corpus, or of documents, with their vectors
// params: corpus, documents
// since: 2025.10
// fallback: ingest/chunk_vectors_lts
CYPHER 25
MATCH (k:Corpus {name: $corpus})<-[:IN_CORPUS]-(d:Document)
WHERE $documents IS NULL OR d.id IN $documents
MATCH (d)<-[:FROM_DOCUMENT]-(c:Chunk)
RETURN d.id AS document, c.id AS id, c.corpusVersion AS since, vector(c.embedding, k.dimensions, FLOAT32) AS vector
