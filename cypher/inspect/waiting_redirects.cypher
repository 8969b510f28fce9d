// @title: Redirects that wait for their target
// purpose: redirects whose target is not in their corpus
// params: corpus, limit
// since: 5.26
CALL () {
  UNWIND CASE WHEN $corpus IS NULL THEN [] ELSE [$corpus] END AS name
  MATCH (r:Redirect {corpus: name})
  RETURN r
  UNION ALL
  UNWIND CASE WHEN $corpus IS NULL THEN [1] ELSE [] END AS every
  MATCH (r:Redirect)
  RETURN r
}
WITH r
WHERE (r.corpus = $corpus OR $corpus IS NULL AND NOT r.corpus =~ 'eval-.+-[0-9a-f]{8}')
  AND NOT EXISTS {
    MATCH (d:Document {corpus: r.corpus})
    WHERE d.titleKey = r.targetKey OR r.title IN d.aliases
  }
RETURN r.corpus AS corpus, r.title AS title, r.target AS target
ORDER BY corpus, target, title
LIMIT coalesce($limit, 100)
