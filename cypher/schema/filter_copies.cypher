// purpose: chunks have what filters name of their documents, for the vector index to be filtered by: no lists, no long texts
// params:
// since: 5.26
MATCH (k:Corpus)<-[:IN_CORPUS]-(d:Document)<-[:FROM_DOCUMENT]-(c:Chunk)
UNWIND coalesce(k.copied, []) AS copied
WITH k, d, c, substring(copied, 9) AS name
WHERE copied STARTS WITH 'document.'
  AND NOT coalesce(
    c['document_' + name] = d[name], c['document_' + name] IS NULL AND d[name] IS NULL
  )
// Who changes a document holds its corpus: it is waited for, and then the value is read.
CALL (k, d, c, name) {
  SET k.copied = k.copied
  WITH k, d, c, name
  SET c['document_' + name] =
    CASE
      WHEN d[name] IS :: STRING NOT NULL AND size(d[name]) > 1000 THEN null
      WHEN d[name] IS :: LIST<ANY> NOT NULL THEN null
      ELSE d[name]
    END
} IN TRANSACTIONS OF 10000 ROWS
