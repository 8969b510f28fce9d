// purpose: every document of a corpus that has a theme vector
// params: corpus
// since: 5.26
MATCH (:Corpus {name: $corpus})<-[:IN_CORPUS]-(d:Document)
WHERE d.themeEmbedding IS NOT NULL
RETURN d.id AS document, d.id AS id, d.themeEmbedding AS vector
