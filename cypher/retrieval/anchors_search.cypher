// purpose: chunks of a corpus nearest to a vector, filtered inside the index
// params: corpus, vector, fetch, hits, anchors, documents, texts
// since: 2026.01
// fallback: retrieval/anchors_index
CYPHER 25
MATCH (c:Chunk)
  SEARCH c IN (
    VECTOR INDEX chunk_embedding
    FOR $vector
    WHERE c.corpus = $corpus /* inside */
    LIMIT $fetch
  ) SCORE AS score
WITH c, score
WHERE true /* filter */
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
