// purpose: mark all documents of a corpus with their chunks as changed in a version, and what is known of their texts as void
// params: name, version
// since: 5.26
MATCH (k:Corpus {name: $name})
SET k.linkState = ''
WITH k
MATCH (k)<-[:IN_CORPUS]-(d:Document)
SET d.corpusVersion = $version
WITH d
MATCH (d)<-[:FROM_DOCUMENT]-(c:Chunk)
REMOVE c.corpusVersion
