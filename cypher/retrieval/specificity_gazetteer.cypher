// purpose: names, places and identifiers of all custodians
// params:
// since: 5.26
MATCH (c:Custodian)
RETURN
  c.name AS name,
  c.city AS city,
  c.region AS region,
  c.subregionCode AS subregion,
  c.countryCode AS country,
  c.isil AS isil,
  c.ghcid AS ghcid
ORDER BY c.id
