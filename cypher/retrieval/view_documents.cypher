// purpose: documents of a corpus with how many chunks they have
// params: corpus
// since: 5.26
MATCH (:Corpus {name: $corpus})<-[:IN_CORPUS]-(d:Document)
RETURN
  d.id AS id,
  d.title AS title,
  COUNT { (d)<-[:FROM_DOCUMENT]-(:Chunk) } AS chunks
ORDER BY id
