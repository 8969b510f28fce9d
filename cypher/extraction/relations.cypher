// purpose: relationships between entities that an extraction states
// params: extraction, rows
// since: 5.26
UNWIND $rows AS row
MATCH (a:Entity {id: row.source})
MATCH (b:Entity {id: row.target})
MERGE (a)-[:RELATES {extraction: $extraction, relation: row.relation}]->(b)
