// purpose: documents of a corpus that its present version changed
// params: corpus, version
// since: 5.26
MATCH (:Corpus {name: $corpus})<-[:IN_CORPUS]-(d:Document)
WHERE d.corpusVersion = $version
RETURN d.id AS id
ORDER BY id
