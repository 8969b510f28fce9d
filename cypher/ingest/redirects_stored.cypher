// purpose: titles, targets and pages of stored redirects
// params: ids
// since: 5.26
UNWIND $ids AS id
MATCH (r:Redirect {id: id})
USING INDEX SEEK r:Redirect(id)
RETURN id, r.title AS title, r.target AS target, r.page AS page
