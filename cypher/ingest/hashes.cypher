// purpose: content hashes of stored documents
// params: ids
// since: 5.26
UNWIND $ids AS id
MATCH (d:Document {id: id})
USING INDEX SEEK d:Document(id)
RETURN id, d.contentHash AS contentHash
