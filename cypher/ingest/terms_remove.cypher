// purpose: terms that are none any more
// params: ids
// since: 5.26
UNWIND $ids AS id
MATCH (t:Term {id: id})
USING INDEX SEEK t:Term(id)
DETACH DELETE t
