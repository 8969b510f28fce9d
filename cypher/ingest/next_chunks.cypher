// purpose: chain the chunks of documents
// params: rows
// since: 5.26
UNWIND $rows AS row
MATCH (a:Chunk {id: row.from})
USING INDEX SEEK a:Chunk(id)
MATCH (b:Chunk {id: row.to})
USING INDEX SEEK b:Chunk(id)
MERGE (a)-[:NEXT_CHUNK]->(b)
