// purpose: targets of stored redirects
// params: ids
// since: 5.26
UNWIND $ids AS id
MATCH (r:Redirect {id: id})
USING INDEX SEEK r:Redirect(id)
RETURN id, r.target AS target
