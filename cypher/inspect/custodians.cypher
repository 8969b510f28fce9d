// @title: Institutions with type, place and identifiers
// purpose: institutions with type, place and identifiers
// params: corpus, type, city, limit
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
  AND ($type IS NULL OR c.institutionType = $type)
  AND ($city IS NULL OR c.city = $city)
RETURN
  c.name AS name,
  c.className AS class,
  c.city AS city,
  c.countryCode AS country,
  c.founded AS founded,
  c.isil AS isil,
  c.ghcid AS ghcid
ORDER BY name, ghcid
LIMIT coalesce($limit, 25)
