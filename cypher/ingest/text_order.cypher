// purpose: sentences of chunks that have none yet, and the order of both; all given once, by place
// params: chunks, sentences, members, nextChunks, nextSentences
// since: 5.26
UNWIND range(0, size($chunks) - 1) AS i
MATCH (c:Chunk {id: $chunks[i]})
USING INDEX SEEK c:Chunk(id)
WITH i, c
ORDER BY i
WITH collect(c) AS chunks
UNWIND range(0, size($sentences) - 1) AS i
MATCH (s:Sentence {id: $sentences[i]})
USING INDEX SEEK s:Sentence(id)
WITH chunks, i, s
ORDER BY i
WITH chunks, collect(s) AS sentences
WHERE size(chunks) = size($chunks) AND size(sentences) = size($sentences)
CALL (chunks, sentences) {
  UNWIND range(0, size($members) - 1) AS i
  WITH chunks[i] AS c, $members[i] AS span, sentences
  WHERE NOT EXISTS { (c)-[:HAS_SENTENCE]->() }
  UNWIND range(span[0], span[1]) AS j
  WITH c, sentences[j] AS s, j - span[0] AS position
  CREATE (c)-[:HAS_SENTENCE {position: position}]->(s)
}
CALL (chunks) {
  UNWIND $nextChunks AS i
  WITH chunks[i] AS a, chunks[i + 1] AS b
  WHERE NOT EXISTS { (a)-[:NEXT_CHUNK]->() }
  CREATE (a)-[:NEXT_CHUNK]->(b)
}
CALL (sentences) {
  UNWIND $nextSentences AS i
  WITH sentences[i] AS a, sentences[i + 1] AS b
  WHERE NOT EXISTS { (a)-[:NEXT_SENTENCE]->() }
  CREATE (a)-[:NEXT_SENTENCE]->(b)
}
