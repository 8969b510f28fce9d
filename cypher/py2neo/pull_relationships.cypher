// purpose: properties of stored relationships
// params: rows
// since: 5.26
UNWIND $rows AS row
MATCH ()-[r]->()
WHERE elementId(r) = row.identity
RETURN row.index AS index, properties(r) AS properties
