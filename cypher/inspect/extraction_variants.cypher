// @title: Variants and models side by side
// purpose: how many extractions were valid, put right or failed, what they cost and hold
// params: corpus, limit
// since: 5.26
CALL () {
  UNWIND CASE WHEN $corpus IS NULL THEN [] ELSE [$corpus] END AS name
  MATCH (x:Extraction {corpus: name})
  RETURN x
  UNION ALL
  UNWIND CASE WHEN $corpus IS NULL THEN [1] ELSE [] END AS every
  MATCH (x:Extraction)
  RETURN x
}
WITH x
WHERE $corpus IS NULL OR x.corpus = $corpus
CALL (x) {
  OPTIONAL MATCH (x)-[:STATES]->(f:Fact)
  RETURN
    count(f) AS facts,
    count(CASE WHEN EXISTS { (f)-[:SUPPORTED_BY]->() } THEN 1 END) AS supported
}
RETURN
  x.variant AS variant,
  x.model AS model,
  count(x) AS extractions,
  count(CASE x.status WHEN 'ok' THEN 1 END) AS ok,
  count(CASE x.status WHEN 'repaired' THEN 1 END) AS repaired,
  count(CASE x.status WHEN 'partial' THEN 1 END) AS partial,
  count(CASE x.status WHEN 'failed' THEN 1 END) AS failed,
  sum(facts) AS facts,
  sum(supported) AS supported,
  sum(x.promptTokens) AS promptTokens,
  sum(x.completionTokens) AS completionTokens,
  round(avg(x.seconds), 2) AS secondsEach
ORDER BY variant, model
LIMIT coalesce($limit, 25)
