// purpose: SKN blocks of documents or their chunks, for the prompt of an answer
// params: documents
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
WHERE x.variant STARTS WITH 'skn' AND x.text <> ''
RETURN
  d.id AS document,
  d.title AS title,
  x.id AS extraction,
  x.variant AS variant,
  x.model AS model,
  chunk,
  x.text AS text
ORDER BY place, variant, chunk >= 0, model, chunk, extraction
