// purpose: facts that an extraction states
// params: extraction, rows
// since: 5.26
MATCH (x:Extraction {id: $extraction})
UNWIND $rows AS row
MERGE (f:Fact {id: row.id})
SET f = row
MERGE (x)-[:STATES]->(f)
