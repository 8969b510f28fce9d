// purpose: chunks of a corpus nearest to a vector, each that passes a filter compared on the server
// params: corpus, vector, hits, anchors, documents, texts
// since: 5.26
MATCH (c:Chunk {corpus: $corpus}) /* start */
WHERE c.embedding IS NOT NULL AND true /* filter */
WITH c, vector.similarity.cosine(c.embedding, $vector) AS score
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
