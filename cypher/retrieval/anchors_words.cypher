// purpose: chunks of a corpus that have some words, by the full-text index
// params: corpus, words, wordFetch, hits
// since: 5.26
CALL db.index.fulltext.queryNodes('chunk_text', $words, {limit: $wordFetch})
YIELD node AS c, score
WITH c, score
WHERE c.corpus = $corpus AND true /* filter */
WITH c, score
ORDER BY score DESC, c.id
LIMIT $hits
// It is dear to look at vectors, so it is done for few. During an ingest chunks may have none.
WITH c, score
WHERE c.embedding IS NOT NULL
RETURN [
  c.id, c.embedding /* vector */, head([(c)-[:FROM_DOCUMENT]->(d:Document) | d.id])
] AS hit
ORDER BY score DESC, c.id
