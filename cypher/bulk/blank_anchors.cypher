// purpose: empty anchors of links, which an import leaves out
// params: corpus
// since: 5.26
MATCH (:Corpus {name: $corpus})<-[:IN_CORPUS]-(:Document)-[r:LINKS_TO]->(:Document)
WHERE r.anchor IS NULL
SET r.anchor = ''
