// purpose: chunks whose copies of what filters name are not what their documents have (knowtrail schema apply --filter-property mends them)
// params: corpus
// since: 5.26
MATCH (k:Corpus {name: $corpus})
UNWIND [
  name IN coalesce(k.filters, [])
  WHERE name STARTS WITH 'document.' | substring(name, 9)
] AS name
MATCH (k)<-[:IN_CORPUS]-(d:Document)<-[:FROM_DOCUMENT]-(c:Chunk)
WITH c, c['document_' + name] AS own,
     CASE
       WHEN d[name] IS :: STRING NOT NULL AND size(d[name]) > 1000 THEN null
       WHEN d[name] IS :: LIST<ANY> NOT NULL THEN null
       ELSE d[name]
     END AS value
WHERE NOT coalesce(own = value, own IS NULL AND value IS NULL)
WITH DISTINCT c
RETURN count(c) AS count, collect(c.id)[..5] AS examples
