// @title: Institutions with type, place and identifiers
// purpose: institutions with type, place and identifiers
// params: corpus, type, city, limit
// since: 5.26
MATCH (c:Custodian)
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
