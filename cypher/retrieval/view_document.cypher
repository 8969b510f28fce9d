// purpose: documents of an id, title or alias, with how many chunks they have
// params: corpus, document, limit
// since: 5.26
MATCH (d:Document)
WHERE ($corpus IS NULL OR d.corpus = $corpus)
  AND (d.id = $document OR d.title = $document OR $document IN d.aliases)
RETURN
  d.id AS id,
  d.title AS title,
  d.corpus AS corpus,
  COUNT { (d)<-[:FROM_DOCUMENT]-(:Chunk) } AS chunks
ORDER BY d.title = $document DESC, corpus, id
LIMIT $limit
