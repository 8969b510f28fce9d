// purpose: chain the chunks of documents
// params: rows
// since: 5.26
UNWIND $rows AS row
MATCH (a:Chunk {id: row.from})
MATCH (b:Chunk {id: row.to})
MERGE (a)-[:NEXT_CHUNK]->(b)
