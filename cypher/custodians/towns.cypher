// purpose: the middle of towns, by the institutions there that have coordinates
// params: cities, corpus
// since: 5.26
MATCH (c:Custodian)
WHERE c.city IN $cities
  AND c.location IS NOT NULL
  AND ($corpus IS NULL OR c.corpus = $corpus)
WITH c.city AS city, c.region AS region, c.subregionCode AS subregion,
     c.countryCode AS country, avg(c.location.latitude) AS latitude,
     avg(c.location.longitude) AS longitude
RETURN city, region, subregion, country, latitude, longitude
ORDER BY country, subregion, region, city
