// purpose: store redirects
// params: corpus, rows
// since: 5.26
UNWIND $rows AS row
MERGE (r:Redirect {id: row.id})
SET r.corpus = $corpus,
    r.title = row.title,
    r.target = row.target,
    r.targetKey = row.targetKey,
    r.page = row.page
