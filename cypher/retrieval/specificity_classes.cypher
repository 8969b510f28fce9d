// purpose: classes of chunks
// params: ids
// since: 5.26
UNWIND $ids AS id
MATCH (c:Chunk {id: id})
RETURN c.id AS id, c.className AS className
