// purpose: store a judged question with the scores of its chunks, and forget scores and battles that it no longer has
// params: corpus, queries
// since: 5.26
MATCH (k:Corpus {name: $corpus})
WHERE coalesce(k.status, '') <> 'deleting'
UNWIND $queries AS row
MERGE (q:Query {id: row.id})
  ON CREATE SET q.text = row.text, q.corpus = $corpus, q.createdAt = row.judgedAt
SET q.judgedAt = row.judgedAt
WITH q, row
CALL (q, row) {
  MATCH (q)-[old:JUDGED]->(c:Chunk)
  WHERE NOT c.id IN row.chunks
  DELETE old
}
CALL (q, row) {
  MATCH (b:Battle)-[:FOR_QUERY]->(q)
  WHERE NOT b.id IN row.battles
  DETACH DELETE b
}
CALL (q, row) {
  UNWIND row.scores AS score
  MATCH (c:Chunk {id: score.chunk})
  MERGE (q)-[j:JUDGED]->(c)
  SET j = score.properties
}
