// purpose: documents that are deleted
// params: ids
// since: 5.26
UNWIND $ids AS id
MATCH (d:Document {id: id})
DETACH DELETE d
