// purpose: corpora that have a chunk with a class
// params:
// since: 5.26
MATCH (k:Corpus)
WHERE EXISTS {
  MATCH (k)<-[:IN_CORPUS]-(:Document)<-[:FROM_DOCUMENT]-(c:Chunk)
  WHERE c.className IS NOT NULL
}
RETURN k.name AS name
ORDER BY name
