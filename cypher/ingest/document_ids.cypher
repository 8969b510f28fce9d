// purpose: ids and content hashes of a corpus' documents
// params: corpus
// since: 5.26
MATCH (:Corpus {name: $corpus})<-[:IN_CORPUS]-(d:Document)
RETURN d.id AS id, d.contentHash AS hash
