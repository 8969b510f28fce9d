// purpose: redirects whose own page became an article
// params: rows
// since: 5.26
UNWIND $rows AS row
MATCH (r:Redirect {id: row.id})
USING INDEX SEEK r:Redirect(id)
WHERE r.page IS NULL OR r.page = row.page
DELETE r
