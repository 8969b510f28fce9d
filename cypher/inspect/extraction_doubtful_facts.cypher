// @title: Facts that are doubtful
// purpose: facts that are uncertain, of low confidence, or of sources that may mislead
// params: corpus, confidence, limit
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
MATCH (x)-[:STATES]->(f:Fact)
WHERE
  ($corpus IS NULL OR x.corpus = $corpus)
  AND (
    f.priority = 'uncertain'
    OR f.confidence < coalesce($confidence, 0.5)
    OR x.misdirection = 'high'
    OR x.reliability < 0.5
  )
MATCH (x)-[:EXTRACTED_FROM]->(source)
OPTIONAL MATCH (source)-[:FROM_DOCUMENT]->(d:Document)
RETURN DISTINCT
  f.text AS fact,
  f.confidence AS confidence,
  coalesce(f.priority, f.category) AS kind,
  x.reliability AS reliability,
  x.misdirection AS misdirection,
  coalesce(d.title, source.query, source.title) AS page,
  x.variant AS variant
ORDER BY coalesce(confidence, -1), page, fact
LIMIT coalesce($limit, 25)
