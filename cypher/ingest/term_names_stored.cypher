// purpose: which terms some chunks name
// params: ids
// since: 5.26
UNWIND $ids AS id
MATCH (c:Chunk {id: id})-[:NAMES]->(t:Term)
USING INDEX SEEK c:Chunk(id)
RETURN id, collect(t.id) AS terms
