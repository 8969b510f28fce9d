// purpose: content hashes of stored documents
// params: ids
// since: 5.26
UNWIND $ids AS id
MATCH (d:Document {id: id})
RETURN id, d.contentHash AS contentHash
