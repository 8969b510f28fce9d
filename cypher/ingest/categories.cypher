// purpose: categories of documents
// params: corpus, rows
// since: 5.26
UNWIND $rows AS row
MATCH (d:Document {id: row.document})
USING INDEX SEEK d:Document(id)
MERGE (c:Category {id: row.id})
  ON CREATE SET c.corpus = $corpus, c.name = row.name
MERGE (d)-[:IN_CATEGORY]->(c)
