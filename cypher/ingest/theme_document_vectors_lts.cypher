// purpose: every document of a corpus that has a theme vector, and whether it lost a neighbour
// params: corpus
// since: 5.26
MATCH (:Corpus {name: $corpus})<-[:IN_CORPUS]-(d:Document)
WHERE d.themeEmbedding IS NOT NULL
RETURN d.id AS document, d.id AS id, d.themeLost AS lost, d.themeEmbedding AS vector
