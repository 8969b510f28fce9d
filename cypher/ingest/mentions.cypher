// purpose: store MENTIONS
// params: rows
// since: 5.26
UNWIND $rows AS row
MATCH (c:Chunk {id: row.chunk})
USING INDEX SEEK c:Chunk(id)
MATCH (t:Document {id: row.document})
USING INDEX SEEK t:Document(id)
MERGE (c)-[r:MENTIONS]->(t)
SET r.anchor = row.anchor
