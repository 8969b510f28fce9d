// purpose: what extractions say that documents leave out
// params: ids
// since: 5.26
UNWIND $ids AS id
MATCH (d:Document {id: id})
USING INDEX SEEK d:Document(id)
CALL (d) {
  MATCH (d)<-[:EXTRACTED_FROM]-(x:Extraction)
  RETURN x
  UNION
  MATCH (d)<-[:FROM_DOCUMENT]-(:Chunk)<-[:EXTRACTED_FROM]-(x:Extraction)
  RETURN x
}
MATCH (x)-[:LACKS]->(g:Gap)
RETURN DISTINCT g.text AS text
ORDER BY text
LIMIT 100
