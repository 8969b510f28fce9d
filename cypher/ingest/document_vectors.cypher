// purpose: theme vectors of documents
// params: rows
// since: 5.26
UNWIND $rows AS row
MATCH (d:Document {id: row.id})
USING INDEX SEEK d:Document(id)
CALL db.create.setNodeVectorProperty(d, 'themeEmbedding', row.vector)
