// @title: Extractions that failed, whole or in part
// purpose: what models answered that could not be used, and why
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
WHERE
  x.status IN ['failed', 'partial'] AND ($corpus IS NULL OR x.corpus = $corpus)
MATCH (x)-[:EXTRACTED_FROM]->(source)
OPTIONAL MATCH (source)-[:FROM_DOCUMENT]->(d:Document)
RETURN DISTINCT
  coalesce(d.title, source.query, source.title) AS page,
  x.variant AS variant,
  x.model AS model,
  x.error AS error,
  x.readCharacters AS read,
  x.sourceCharacters AS characters,
  x.attempts AS attempts,
  left(x.raw, 200) + CASE WHEN size(x.raw) > 200 THEN '…' ELSE '' END AS answer,
  x.id AS extraction
ORDER BY page, variant, model, extraction
LIMIT coalesce($limit, 25)
