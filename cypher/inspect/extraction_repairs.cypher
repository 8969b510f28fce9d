// @title: What had to be put right in answers
// purpose: repairs of extractions by kind, the commonest first, with an example
// params: corpus, variant, limit
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
  ($corpus IS NULL OR x.corpus = $corpus)
  AND ($variant IS NULL OR x.variant = $variant)
UNWIND x.repairs AS repair
WITH x, repair, replace(last(split(repair, ' (')), ')', '') AS kind
ORDER BY repair
RETURN
  kind,
  count(*) AS repairs,
  count(DISTINCT x) AS extractions,
  collect(repair)[0] AS example
ORDER BY repairs DESC, kind
LIMIT coalesce($limit, 25)
