// purpose: redirects that are gone from the sources
// params: ids
// since: 5.26
UNWIND $ids AS id
MATCH (r:Redirect {id: id})
USING INDEX SEEK r:Redirect(id)
DELETE r
