// purpose: SKN blocks of documents or their chunks, for the prompt of an answer
// params: documents, variant
// since: 5.26
UNWIND range(0, size($documents) - 1) AS place
MATCH (d:Document {id: $documents[place]})
CALL (d) {
  MATCH (d)<-[:EXTRACTED_FROM]-(x:Extraction) RETURN x, -1 AS chunk
  UNION
  MATCH (d)<-[:FROM_DOCUMENT]-(c:Chunk)<-[:EXTRACTED_FROM]-(x:Extraction)
  RETURN x, c.index AS chunk
}
WITH place, d, x, chunk
WHERE x.variant STARTS WITH 'skn' AND x.text <> '' AND
  ($variant IS NULL OR x.variant = $variant)
RETURN
  d.id AS document,
  d.title AS title,
  x.id AS extraction,
  x.variant AS variant,
  x.text AS text
ORDER BY place, x.variant, chunk, x.model, extraction
