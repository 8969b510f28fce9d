// purpose: some chunks with their vectors
// params: ids
// since: 5.26
UNWIND $ids AS id
MATCH (c:Chunk {id: id})-[:FROM_DOCUMENT]->(d:Document)
USING INDEX SEEK c:Chunk(id)
RETURN d.id AS document, id, c.similarLost AS lost, c.embedding AS vector
