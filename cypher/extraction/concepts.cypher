// purpose: concepts that an extraction names as causes or effects
// params: extraction, rows
// since: 5.26
MATCH (x:Extraction {id: $extraction})
UNWIND $rows AS row
MERGE (c:Concept {id: row.id})
  ON CREATE SET c.corpus = row.corpus, c.name = row.name
MERGE (x)-[:IDENTIFIES]->(c)
