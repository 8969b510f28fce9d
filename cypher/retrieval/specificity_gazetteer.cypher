// purpose: places of custodians with names and identifiers there, of all where the corpus is null
// params: corpus
// since: 5.26
MATCH (c:Custodian)
WHERE $corpus IS NULL OR c.corpus = $corpus
RETURN
  c.city AS city,
  c.region AS region,
  c.subregionCode AS subregion,
  c.countryCode AS country,
  count(*) AS rows,
  collect(c.name) AS names,
  collect(c.isil) + collect(c.ghcid) AS identifiers
