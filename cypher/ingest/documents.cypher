// purpose: store documents
// params: corpus, rows
// since: 5.26
MATCH (k:Corpus {name: $corpus})
UNWIND $rows AS row
MERGE (d:Document {id: row.id})
SET d = row.properties
MERGE (d)-[:IN_CORPUS]->(k)
