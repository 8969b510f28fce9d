// purpose: store a walk whole, or nothing where its corpus or a chunk or sentence of it is gone or changed
// params: corpus, question, vector, traversal, steps, picks, considered, anchors, chunks, sentences
// since: 5.26
MATCH (k:Corpus {name: $corpus})
WHERE coalesce(k.status, '') <> 'deleting'
CALL () {
  UNWIND range(0, size($chunks) - 1) AS i
  MATCH (c:Chunk {id: $chunks[i]})
  USING INDEX SEEK c:Chunk(id)
  WITH i, c
  ORDER BY i
  RETURN collect(c) AS chunks
}
CALL () {
  UNWIND range(0, size($sentences) - 1) AS i
  MATCH (n:Sentence {id: $sentences[i]})
  USING INDEX SEEK n:Sentence(id)
  WITH i, n
  ORDER BY i
  RETURN collect(n) AS sentences
}
WITH chunks, sentences
WHERE size(chunks) = size($chunks)
  AND size(sentences) = size($sentences)
  AND all(row IN $steps WHERE chunks[row.chunk].text = row.properties.text)
MERGE (q:Query {id: $question.id})
  ON CREATE SET q = $question
MERGE (t:Traversal {id: $traversal.id})
SET t = $traversal
MERGE (t)-[:FOR_QUERY]->(q)
WITH chunks, sentences, q, t
CALL (q) {
  WITH q
  WHERE q.embedding IS NULL
  CALL db.create.setNodeVectorProperty(q, 'embedding', $vector)
}
CALL (chunks) {
  UNWIND range(0, size($steps) - 1) AS i
  WITH i, $steps[i] AS row, chunks
  MERGE (s:Step {id: row.properties.id})
  SET s = row.properties
  WITH i, s, chunks[row.chunk] AS c
  MERGE (s)-[:VISITED]->(c)
  WITH i, s
  ORDER BY i
  RETURN collect(s) AS steps
}
CALL (t, steps) {
  UNWIND steps[..1] AS first
  MERGE (t)-[:FIRST_STEP]->(first)
}
CALL (steps) {
  UNWIND range(0, size(steps) - 2) AS i
  WITH steps[i] AS a, steps[i + 1] AS b
  MERGE (a)-[:NEXT_STEP]->(b)
}
CALL (steps, sentences) {
  UNWIND $picks AS row
  WITH steps[row.step] AS s, sentences[row.sentence] AS n, row
  MERGE (s)-[p:PICKED]->(n)
  SET p.rank = row.rank, p.score = row.score
}
CALL (steps, chunks) {
  UNWIND $considered AS row
  WITH steps[row.step] AS s, chunks[row.chunk] AS c, row
  MERGE (s)-[r:CONSIDERED]->(c)
  SET r.rank = row.rank, r.score = row.score
}
CALL (t, chunks) {
  UNWIND $anchors AS row
  WITH t, chunks[row.chunk] AS c, row
  MERGE (t)-[r:CONSIDERED]->(c)
  SET r.rank = row.rank, r.score = row.score
}
RETURN t.id AS traversal
