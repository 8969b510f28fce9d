// purpose: names, places and identifiers of custodians, of all where the corpus is null
// params: corpus
// since: 5.26
MATCH (c:Custodian)
WHERE $corpus IS NULL OR c.corpus = $corpus
RETURN
  c.name AS name,
  c.city AS city,
  c.region AS region,
  c.subregionCode AS subregion,
  c.countryCode AS country,
  c.isil AS isil,
  c.ghcid AS ghcid
ORDER BY c.id
