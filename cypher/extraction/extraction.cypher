// purpose: store an extraction of its sources
// params: id, properties, sources
// since: 5.26
MERGE (x:Extraction {id: $id})
SET x = $properties
WITH x
UNWIND $sources AS id
CALL (id) {
  MATCH (n:Document {id: id}) RETURN n
  UNION
  MATCH (n:Chunk {id: id}) RETURN n
  UNION
  MATCH (n:SearchResult {id: id}) RETURN n
}
MERGE (x)-[:EXTRACTED_FROM]->(n)
