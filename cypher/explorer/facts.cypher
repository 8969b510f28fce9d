// purpose: facts of extractions with the sentence that supports each best, the surest first
// params: corpus, limit
// since: 5.26
MATCH (x:Extraction)-[:STATES]->(f:Fact)
WHERE $corpus IS NULL OR x.corpus = $corpus
WITH
  x,
  f,
  head(COLLECT {
    MATCH (f)-[r:SUPPORTED_BY]->(s:Sentence)
    RETURN {text: s.text, score: r.score}
    ORDER BY r.score DESC, s.id
    LIMIT 1
  }) AS support
MATCH (x)-[:EXTRACTED_FROM]->(source)
OPTIONAL MATCH (source)-[:FROM_DOCUMENT]->(d:Document)
RETURN
  f.text AS fact,
  support.text AS sentence,
  round(support.score, 3) AS support,
  f.confidence AS confidence,
  coalesce(d.title, source.title) AS page,
  x.variant AS variant,
  x.model AS model
ORDER BY coalesce(confidence, 0) DESC, coalesce(support, 0) DESC, fact, f.id
LIMIT $limit
