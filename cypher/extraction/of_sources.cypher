// purpose: extractions from documents or their chunks
// params: ids
// since: 5.26
UNWIND $ids AS id
MATCH (d:Document {id: id})
CALL (d) {
  MATCH (d)<-[:EXTRACTED_FROM]-(x:Extraction) RETURN x
  UNION
  MATCH (d)<-[:FROM_DOCUMENT]-(:Chunk)<-[:EXTRACTED_FROM]-(x:Extraction) RETURN x
}
RETURN DISTINCT x.id AS id
