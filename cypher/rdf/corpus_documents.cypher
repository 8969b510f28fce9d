// purpose: mark all documents of a corpus as changed in a version
// params: name, version
// since: 5.26
MATCH (:Corpus {name: $name})<-[:IN_CORPUS]-(d:Document)
SET d.corpusVersion = $version
