// purpose: some chunks that lost a neighbour and have their edges again
// params: ids
// since: 5.26
UNWIND $ids AS id
MATCH (c:Chunk {id: id})
USING INDEX SEEK c:Chunk(id)
REMOVE c.similarLost
