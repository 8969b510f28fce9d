// purpose: chunks of a corpus nearest to a vector, each compared on the server
// params: corpus, vector, hits, documents, texts
// since: 5.26
MATCH (:Corpus {name: $corpus})<-[:IN_CORPUS]-(:Document)<-[:FROM_DOCUMENT]-(c:Chunk)
WHERE c.embedding IS NOT NULL AND true /* filter */
WITH c, vector.similarity.cosine(c.embedding, $vector) AS score
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
