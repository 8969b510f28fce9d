// purpose: targets of stored redirects
// params: ids
// since: 5.26
UNWIND $ids AS id
MATCH (r:Redirect {id: id})
RETURN id, r.target AS target
