// purpose: NAMES of chunks that name other terms now
// params: rows
// since: 5.26
UNWIND $rows AS row
MATCH (c:Chunk {id: row.id})-[old:NAMES]->(t:Term)
USING INDEX SEEK c:Chunk(id)
WHERE t.id IN row.terms
DELETE old
