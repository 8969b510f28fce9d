// purpose: some documents that lost a neighbour by themes and have their edges again
// params: ids
// since: 5.26
UNWIND $ids AS id
MATCH (d:Document {id: id})
USING INDEX SEEK d:Document(id)
REMOVE d.themeLost
