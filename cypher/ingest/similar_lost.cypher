// purpose: chunks that lost a neighbour, and the least score among their neighbours before
// params: corpus
// since: 5.26
MATCH (c:Chunk {corpus: $corpus})
WHERE c.similarLost IS NOT NULL
RETURN c.id AS id, c.similarLost AS lost
