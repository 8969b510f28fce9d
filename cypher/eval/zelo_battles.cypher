// purpose: store battles between chunks for a question
// params: rows
// since: 5.26
UNWIND $rows AS row
MATCH (q:Query {id: row.query})
MATCH (l:Chunk {id: row.left})
MATCH (r:Chunk {id: row.right})
MERGE (b:Battle {id: row.properties.id})
SET b = row.properties
MERGE (b)-[:FOR_QUERY]->(q)
MERGE (b)-[:LEFT]->(l)
MERGE (b)-[:RIGHT]->(r)
