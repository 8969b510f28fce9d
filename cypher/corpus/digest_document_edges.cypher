// purpose: other edges of documents
// params: corpus
// since: 5.26
MATCH (:Corpus {name: $corpus})<-[:IN_CORPUS]-(d:Document)-[r:HAS_THEME|THEME_SIMILAR_TO|LINKS_TO|IN_CATEGORY]->(b)
RETURN type(r) AS type, d.id AS a, b.id AS b, properties(r) AS properties
