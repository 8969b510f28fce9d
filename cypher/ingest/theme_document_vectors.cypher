// purpose: documents of a corpus, or some of them, that have a theme vector
// params: corpus, documents
// since: 2025.10
// fallback: ingest/theme_document_vectors_lts
CYPHER 25
MATCH (k:Corpus {name: $corpus})<-[:IN_CORPUS]-(d:Document)
WHERE d.themeEmbedding IS NOT NULL AND ($documents IS NULL OR d.id IN $documents)
RETURN d.id AS document, d.id AS id, NULL AS since, vector(d.themeEmbedding, k.dimensions, FLOAT32) AS vector
