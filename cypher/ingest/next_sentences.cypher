// purpose: chain the sentences of documents
// params: rows
// since: 5.26
UNWIND $rows AS row
MATCH (a:Sentence {id: row.from})
USING INDEX SEEK a:Sentence(id)
MATCH (b:Sentence {id: row.to})
USING INDEX SEEK b:Sentence(id)
MERGE (a)-[:NEXT_SENTENCE]->(b)
