// purpose: themes of documents
// params: corpus, rows
// since: 5.26
UNWIND $rows AS row
MATCH (d:Document {id: row.document})
USING INDEX SEEK d:Document(id)
MERGE (t:Theme {id: row.id})
  ON CREATE SET t.corpus = $corpus, t.name = row.name
MERGE (d)-[h:HAS_THEME]->(t)
SET h.rank = row.rank
