// purpose: vectors of themes that have none
// params: rows
// since: 5.26
UNWIND $rows AS row
MATCH (t:Theme {id: row.id})
USING INDEX SEEK t:Theme(id)
WHERE t.embedding IS NULL
CALL db.create.setNodeVectorProperty(t, 'embedding', row.vector)
