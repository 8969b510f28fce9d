// purpose: which of some chunks a corpus has
// params: corpus, ids
// since: 5.26
UNWIND $ids AS id
MATCH (c:Chunk {id: id})
WHERE c.corpus = $corpus
RETURN c.id AS id
