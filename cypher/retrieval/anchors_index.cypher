// purpose: chunks of a corpus among the nearest of all, or among all where these are few
// params: corpus, vector, fetch, hits, anchors, documents, texts
// since: 5.26
MATCH (every:Chunk)
WITH count(every) AS chunks
CALL (chunks) {
  WITH chunks
  WHERE chunks > $fetch
  CALL db.index.vector.queryNodes('chunk_embedding', $fetch, $vector)
  YIELD node AS c, score
  RETURN c, score
  UNION ALL
  WITH chunks
  WHERE chunks <= $fetch
  // Without the index this is an error here, too.
  CALL db.index.vector.queryNodes('chunk_embedding', 1, $vector)
  YIELD node AS nearest
  MATCH (c:Chunk)
  WHERE c.embedding IS NOT NULL
  RETURN c, vector.similarity.cosine(c.embedding, $vector) AS score
}
WITH c, score
WHERE c.corpus = $corpus AND true /* filter */
WITH c, score
ORDER BY score DESC, c.id
LIMIT $hits
WITH collect(c) AS best
RETURN
  [c IN best | c.id] AS ids,
  [c IN best[..$anchors] | c.embedding /* vector */] AS vectors,
  [
    c IN best
    WHERE $documents |
    coalesce(head([(c)-[:FROM_DOCUMENT]->(d:Document) | d.id]), '')
  ] AS documents,
  [c IN best WHERE $texts | coalesce(c.text, '')] AS texts,
  [] /* words */ AS worded
