// purpose: how many institutions there are, and how many of them have no town or no coordinates
// params: corpus, types
// since: 5.26
MATCH (c:Custodian)
WHERE ($corpus IS NULL OR c.corpus = $corpus)
  AND ($types IS NULL OR c.institutionType IN $types)
RETURN count(*) AS institutions, count(*) - count(c.city) AS without_town,
       count(*) - count(c.location) AS without_location
