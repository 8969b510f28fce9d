// purpose: ids of the documents of a corpus
// params: corpus
// since: 5.26
MATCH (:Corpus {name: $corpus})<-[:IN_CORPUS]-(d:Document)
RETURN d.id AS id
ORDER BY id
