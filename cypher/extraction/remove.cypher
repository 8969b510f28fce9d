// purpose: extractions with all that only they say
// params: ids
// since: 5.26
UNWIND $ids AS id
MATCH (x:Extraction {id: id})
CALL (x) {
  MATCH (x)-[:IDENTIFIES|NAMES]->()-[r:CAUSES|RELATES {extraction: x.id}]->()
  DELETE r
}
CALL (x) {
  MATCH (x)-[:STATES|LACKS]->(said:Fact|Gap)
  DETACH DELETE said
}
OPTIONAL MATCH (x)-[:IDENTIFIES|NAMES]->(named:Concept|Entity)
OPTIONAL MATCH (x)-[:EXTRACTED_FROM]->(result:SearchResult)
WITH collect(DISTINCT x) AS gone, collect(DISTINCT named) + collect(DISTINCT result) AS left
FOREACH (x IN gone | DETACH DELETE x)
WITH left
UNWIND left AS n
WITH n
WHERE NOT EXISTS { (n)<-[:IDENTIFIES|NAMES|EXTRACTED_FROM]-(:Extraction) }
DETACH DELETE n
