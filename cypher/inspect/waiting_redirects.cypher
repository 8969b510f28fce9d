// @title: Redirects that wait for their target
// purpose: redirects whose target is not in their corpus
// params: corpus, limit
// since: 5.26
MATCH (r:Redirect)
WHERE (r.corpus = $corpus OR $corpus IS NULL AND NOT r.corpus =~ 'eval-.+-[0-9a-f]{8}')
  AND NOT EXISTS {
    MATCH (d:Document {corpus: r.corpus})
    WHERE d.titleKey = r.targetKey OR r.title IN d.aliases
  }
RETURN r.corpus AS corpus, r.title AS title, r.target AS target
ORDER BY corpus, target, title
LIMIT coalesce($limit, 100)
