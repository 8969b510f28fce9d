// purpose: those of some documents whose text has one of the phrases looked for in it
// params: rows
// since: 5.26
UNWIND $rows AS row
MATCH (d:Document {id: row.id})
USING INDEX SEEK d:Document(id)
WHERE any(phrase IN row.phrases WHERE d.text CONTAINS phrase)
RETURN d.id AS id
