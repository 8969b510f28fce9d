// purpose: the chunks of an institution's document are about it and carry its class
// params: rows
// since: 5.26
UNWIND $rows AS row
MATCH (u:Custodian {id: row.id})
USING INDEX SEEK u:Custodian(id)
MATCH (d:Document {id: row.document})
USING INDEX SEEK d:Document(id)
MATCH (d)<-[:FROM_DOCUMENT]-(c:Chunk)
WHERE
  coalesce(c.className, '') <> row.className
  OR NOT EXISTS { (c)-[:ABOUT]->(u) }
SET c.className = row.className
MERGE (c)-[:ABOUT]->(u)
