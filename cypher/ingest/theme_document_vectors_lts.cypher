// purpose: documents of a corpus, or some of them, that have a theme vector
// params: corpus, documents
// since: 5.26
MATCH (:Corpus {name: $corpus})<-[:IN_CORPUS]-(d:Document)
WHERE d.themeEmbedding IS NOT NULL AND ($documents IS NULL OR d.id IN $documents)
RETURN d.id AS document, d.id AS id, NULL AS since, d.themeEmbedding AS vector
