// purpose: ids of some documents of a corpus
// params: name, limit
// since: 5.26
MATCH (:Corpus {name: $name})<-[:IN_CORPUS]-(d:Document)
RETURN d.id AS id
LIMIT $limit
