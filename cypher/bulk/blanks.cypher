// purpose: empty texts of documents, which an import leaves out
// params: rows
// since: 5.26
UNWIND $rows AS row
MATCH (d:Document {id: row.id})
USING INDEX SEEK d:Document(id)
SET d += row.properties
