// purpose: causes and relations of no extraction
// params: corpus
// since: 5.26
MATCH (n:Concept|Entity {corpus: $corpus})-[r:CAUSES|RELATES]->()
WHERE NOT EXISTS { (n)<-[:IDENTIFIES]-(:Extraction {id: r.extraction}) }
RETURN count(r) AS count, collect(n.id)[..5] AS examples
