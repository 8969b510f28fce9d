// purpose: redirects whose page is gone or became an article
// params: ids
// since: 5.26
UNWIND $ids AS id
MATCH (r:Redirect {id: id})
USING INDEX SEEK r:Redirect(id)
DELETE r
