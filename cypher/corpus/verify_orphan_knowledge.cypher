// purpose: facts, gaps, concepts, entities and search results that no extraction has
// params: corpus
// since: 5.26
MATCH (n:Fact|Gap|Concept|Entity|SearchResult {corpus: $corpus})
WHERE NOT EXISTS { (n)<-[:STATES|LACKS|IDENTIFIES|EXTRACTED_FROM]-(:Extraction) }
RETURN count(n) AS count, collect(n.id)[..5] AS examples
