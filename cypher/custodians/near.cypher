// purpose: institutions within some kilometres of a point, the nearest first
// params: longitude, latitude, km, corpus, types, limit
// since: 5.26
WITH point({longitude: $longitude, latitude: $latitude}) AS centre
MATCH (c:Custodian)
WHERE point.distance(c.location, centre) <= 1000 * $km
  AND ($corpus IS NULL OR c.corpus = $corpus)
  AND ($types IS NULL OR c.institutionType IN $types)
RETURN c.id AS id, c.uri AS uri, c.name AS name, c.city AS city,
       c.institutionType AS type, point.distance(c.location, centre) / 1000 AS km
ORDER BY km, id
LIMIT $limit
