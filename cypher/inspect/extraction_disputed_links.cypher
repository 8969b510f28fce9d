// @title: Causes and effects that extractions disagree about
// purpose: links that are told in both directions, in that told more often, or with strengths 0.4 or more apart
// params: corpus, limit
// since: 5.26
CALL () {
  UNWIND CASE WHEN $corpus IS NULL THEN [] ELSE [$corpus] END AS name
  MATCH (a:Concept {corpus: name})
  RETURN a
  UNION ALL
  UNWIND CASE WHEN $corpus IS NULL THEN [1] ELSE [] END AS every
  MATCH (a:Concept)
  RETURN a
}
MATCH (a)-[r:CAUSES]->(b:Concept)
WHERE $corpus IS NULL OR a.corpus = $corpus
WITH
  a,
  b,
  min(r.strength) AS weakest,
  max(r.strength) AS strongest,
  count(r) AS extractions,
  COUNT { (b)-[:CAUSES]->(a) } AS reversed
WHERE reversed = 0 AND strongest - weakest >= 0.4
  OR reversed > 0 AND extractions > reversed
  OR reversed = extractions AND a.id < b.id
RETURN
  a.name AS cause,
  b.name AS effect,
  reversed > 0 AS reversed,
  weakest,
  strongest,
  extractions
ORDER BY reversed DESC, strongest - weakest DESC, cause, effect
LIMIT coalesce($limit, 25)
