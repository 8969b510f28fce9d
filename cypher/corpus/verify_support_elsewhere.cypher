// purpose: facts supported by a sentence of another document
// params: corpus
// since: 5.26
MATCH (f:Fact {corpus: $corpus})-[:SUPPORTED_BY]->(s:Sentence)
WHERE NOT EXISTS {
  MATCH (f)<-[:STATES]-(x:Extraction {id: f.extraction})
  WHERE EXISTS {
    (x)-[:EXTRACTED_FROM]->(:Document)<-[:FROM_DOCUMENT]-(:Chunk)-[:HAS_SENTENCE]->(s)
  } OR EXISTS {
    (x)-[:EXTRACTED_FROM]->(:Chunk)-[:FROM_DOCUMENT]->(:Document)<-[:FROM_DOCUMENT]-(:Chunk)-[:HAS_SENTENCE]->(s)
  }
}
RETURN count(DISTINCT f) AS count, collect(DISTINCT f.id)[..5] AS examples
