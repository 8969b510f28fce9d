// @title: What was guessed of institutions
// purpose: what was guessed of institutions, the least certain first
// params: corpus, confidence, limit
// since: 5.26
CALL () {
  UNWIND CASE WHEN $corpus IS NULL THEN [] ELSE [$corpus] END AS name
  MATCH (c:Custodian {corpus: name})
  RETURN c
  UNION ALL
  UNWIND CASE WHEN $corpus IS NULL THEN [1] ELSE [] END AS every
  MATCH (c:Custodian)
  RETURN c
}
WITH c
WHERE
  ($corpus IS NULL OR c.corpus = $corpus)
  AND (c.typeRule IS NOT NULL OR c.cityRule IS NOT NULL)
  AND
    CASE
      WHEN coalesce(c.cityConfidence, 1.0) < c.typeConfidence THEN c.cityConfidence
      ELSE c.typeConfidence
    END
    <= coalesce($confidence, 0.7)
RETURN
  c.name AS name,
  c.institutionType AS type,
  c.typeRule AS typeRule,
  c.typeConfidence AS typeConfidence,
  c.city AS city,
  c.cityRule AS cityRule,
  c.cityConfidence AS cityConfidence
ORDER BY typeConfidence, cityConfidence, name
LIMIT coalesce($limit, 25)
