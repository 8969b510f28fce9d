// purpose: some chunks that lost a neighbour and have their edges again
// params: corpus
// since: 5.26
MATCH (c:Chunk {corpus: $corpus})
WHERE c.similarLost IS NOT NULL
WITH c
LIMIT 20000
REMOVE c.similarLost
