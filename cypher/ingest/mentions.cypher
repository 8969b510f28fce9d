// purpose: store MENTIONS
// params: rows
// since: 5.26
UNWIND $rows AS row
MATCH (c:Chunk {id: row.chunk})
MATCH (t:Document {id: row.document})
MERGE (c)-[r:MENTIONS]->(t)
SET r.anchor = row.anchor
