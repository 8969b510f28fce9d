// purpose: chain the sentences of documents
// params: rows
// since: 5.26
UNWIND $rows AS row
MATCH (a:Sentence {id: row.from})
MATCH (b:Sentence {id: row.to})
MERGE (a)-[:NEXT_SENTENCE]->(b)
