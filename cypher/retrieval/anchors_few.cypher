// purpose: chunks that pass a filter, nearest to a vector first, where they are few: found from their documents
// params: corpus, vector, hits, anchors, documents, texts, most
// since: 5.26
MATCH (c:Chunk {corpus: $corpus}) /* start */
WHERE c.embedding IS NOT NULL AND true /* filter */
WITH c
LIMIT $most
WITH collect(c) AS passing
WITH
  size(passing) AS count,
  COLLECT {
    UNWIND CASE WHEN size(passing) < $most THEN passing ELSE [] END AS c
    WITH c, vector.similarity.cosine(c.embedding, $vector) AS score
    ORDER BY score DESC, c.id
    LIMIT $hits
    RETURN c
  } AS best
RETURN
  [c IN best | c.id] AS ids,
  [c IN best[..$anchors] | c.embedding /* vector */] AS vectors,
  [
    c IN best
    WHERE $documents |
    coalesce(head([(c)-[:FROM_DOCUMENT]->(d:Document) | d.id]), '')
  ] AS documents,
  [c IN best WHERE $texts | coalesce(c.text, '')] AS texts,
  [] /* words */ AS worded,
  count
