// purpose: chunks of a corpus among the nearest of all corpora
// params: corpus, vector, fetch, hits, documents
// since: 5.26
CALL db.index.vector.queryNodes('chunk_embedding', $fetch, $vector)
YIELD node AS c, score
WITH c, score
WHERE c.corpus = $corpus AND true /* filter */
WITH c, score
ORDER BY score DESC, c.id
LIMIT $hits
RETURN
  collect(c.id) AS ids,
  collect(c.embedding) AS vectors,
  collect(
    CASE
      WHEN $documents
      THEN coalesce(head([(c)-[:FROM_DOCUMENT]->(d:Document) | d.id]), '')
    END
  ) AS documents
