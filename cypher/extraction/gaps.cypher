// purpose: what an extraction says is missing
// params: extraction, rows
// since: 5.26
MATCH (x:Extraction {id: $extraction})
UNWIND $rows AS row
MERGE (g:Gap {id: row.id})
SET g = row
MERGE (x)-[:LACKS]->(g)
