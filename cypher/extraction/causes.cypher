// purpose: causes and effects that an extraction links
// params: extraction, rows
// since: 5.26
UNWIND $rows AS row
MATCH (a:Concept {id: row.cause})
MATCH (b:Concept {id: row.effect})
MERGE (a)-[r:CAUSES {extraction: $extraction}]->(b)
SET r.strength = row.strength
