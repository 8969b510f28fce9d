// purpose: chunks of a corpus nearest to a vector, filtered inside the index
// params: corpus, vector, fetch, hits, documents, texts
// since: 2026.01
// fallback: retrieval/anchors_index
CYPHER 25
MATCH (c:Chunk)
  SEARCH c IN (
    VECTOR INDEX chunk_embedding
    FOR $vector
    WHERE c.corpus = $corpus
    LIMIT $fetch
  ) SCORE AS score
WITH c, score
WHERE true /* filter */
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
