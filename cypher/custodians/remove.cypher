// purpose: institutions that are gone from their file
// params: ids
// since: 5.26
UNWIND $ids AS id
MATCH (c:Custodian {id: id})
USING INDEX SEEK c:Custodian(id)
DETACH DELETE c
