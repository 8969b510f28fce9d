// purpose: facts supported by a sentence of another document
// params: corpus
// since: 5.26
MATCH (f:Fact {corpus: $corpus})-[:SUPPORTED_BY]->(s:Sentence)
WHERE NOT EXISTS {
  MATCH (f)<-[:STATES]-(:Extraction)-[:EXTRACTED_FROM]->(source)
  MATCH (s)<-[:HAS_SENTENCE]-(:Chunk)-[:FROM_DOCUMENT]->(d:Document)
  WHERE source = d OR EXISTS { (source)-[:FROM_DOCUMENT]->(d) }
}
RETURN count(DISTINCT f) AS count, collect(DISTINCT f.id)[..5] AS examples
