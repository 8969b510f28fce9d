// purpose: entities that an extraction names, with what it says of them
// params: extraction, rows
// since: 5.26
MATCH (x:Extraction {id: $extraction})
UNWIND $rows AS row
MERGE (e:Entity {id: row.id})
  ON CREATE SET e.corpus = row.corpus, e.name = row.name, e.type = row.type
MERGE (x)-[n:IDENTIFIES]->(e)
SET n.type = row.type, n.attributes = row.attributes
