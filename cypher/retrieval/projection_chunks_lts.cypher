// purpose: vectors of all chunks of a corpus
// params: corpus, bound
// since: 5.26
MATCH (k:Corpus {name: $corpus})<-[:IN_CORPUS]-(d:Document)<-[:FROM_DOCUMENT]-(n:Chunk)
WHERE n.embedding IS NOT NULL AND ($bound IS NULL OR d.id < $bound)
RETURN n.embedding AS vector
