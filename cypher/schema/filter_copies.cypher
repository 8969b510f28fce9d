// purpose: chunks have what filters name of their documents, for the vector index to be filtered by: no lists, no long texts
// params:
// since: 5.26
MATCH (k:Corpus)<-[:IN_CORPUS]-(d:Document)<-[:FROM_DOCUMENT]-(c:Chunk)
UNWIND coalesce(k.copied, []) AS copied
WITH c, d, substring(copied, 9) AS name
WHERE copied STARTS WITH 'document.'
WITH c, 'document_' + name AS own,
     CASE
       WHEN d[name] IS :: STRING NOT NULL AND size(d[name]) > 1000 THEN null
       WHEN d[name] IS :: LIST<ANY> NOT NULL THEN null
       ELSE d[name]
     END AS value
WHERE NOT coalesce(c[own] = value, c[own] IS NULL AND value IS NULL)
CALL (c, own, value) {
  SET c[own] = value
} IN TRANSACTIONS OF 10000 ROWS
