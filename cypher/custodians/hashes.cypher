// purpose: which institutions are stored, and from what
// params: ids
// since: 5.26
UNWIND $ids AS id
MATCH (c:Custodian {id: id})
USING INDEX SEEK c:Custodian(id)
RETURN c.id AS id, c.contentHash AS hash
