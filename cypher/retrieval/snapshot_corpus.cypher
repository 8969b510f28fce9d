// purpose: the state of a corpus that tells whether a copy of it is still right
// params: corpus
// since: 5.26
MATCH (k:Corpus {name: $corpus})
RETURN
  coalesce(toString(k.createdAt), elementId(k)) AS stamp,
  coalesce(k.version, 0) AS version,
  coalesce(k.status, 'complete') AS status,
  coalesce(k.dimensions, head(COLLECT {
    MATCH (k)<-[:IN_CORPUS]-(:Document)<-[:FROM_DOCUMENT]-(c:Chunk)
    RETURN size(c.embedding)
    LIMIT 1
  })) AS dimensions
