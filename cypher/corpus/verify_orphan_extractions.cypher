// purpose: extractions without a source
// params: corpus
// since: 5.26
MATCH (n:Extraction {corpus: $corpus})
WHERE NOT EXISTS { (n)-[:EXTRACTED_FROM]->() }
RETURN count(n) AS count, collect(n.id)[..5] AS examples
