// purpose: chunks of a corpus among the nearest of all, or among all where these are few
// params: corpus, vector, fetch, hits, documents, texts
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
WITH
  collect(c.id) AS ids,
  collect(CASE WHEN NOT $texts THEN c.embedding /* vector */ END) AS vectors,
  collect(
    CASE
      WHEN $documents
      THEN coalesce(head([(c)-[:FROM_DOCUMENT]->(d:Document) | d.id]), '')
    END
  ) AS documents,
  collect(CASE WHEN $texts THEN coalesce(c.text, '') END) AS texts
RETURN ids, vectors, documents, texts, [] /* words */ AS worded
