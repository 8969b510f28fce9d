// purpose: redirects that wait for a title
// params: 
// since: 5.26
CREATE INDEX redirect_target IF NOT EXISTS
FOR (r:Redirect)
ON (r.corpus, r.targetKey)
