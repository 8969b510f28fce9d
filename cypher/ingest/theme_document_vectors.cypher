// purpose: every document of a corpus that has a theme vector, and whether it lost a neighbour
// params: corpus
// since: 2025.10
// fallback: ingest/theme_document_vectors_lts
CYPHER 25
MATCH (k:Corpus {name: $corpus})<-[:IN_CORPUS]-(d:Document)
WHERE d.themeEmbedding IS NOT NULL
RETURN d.id AS document, d.id AS id, d.themeLost AS lost, vector(d.themeEmbedding, k.dimensions, FLOAT32) AS vector
