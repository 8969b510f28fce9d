// purpose: vectors of all chunks of a corpus
// params: corpus
// since: 5.26
MATCH (k:Corpus {name: $corpus})<-[:IN_CORPUS]-(:Document)<-[:FROM_DOCUMENT]-(n:Chunk)
WHERE n.embedding IS NOT NULL
RETURN n.embedding AS vector
