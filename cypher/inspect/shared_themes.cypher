// @title: Documents that have a theme in common
// purpose: themes of more than one document, the commonest first
// params: corpus, theme, limit
// since: 5.26
CALL () {
  UNWIND CASE WHEN $corpus IS NULL THEN [] ELSE [$corpus] END AS name
  MATCH (t:Theme {corpus: name})
  RETURN t
  UNION ALL
  UNWIND CASE WHEN $corpus IS NULL THEN [1] ELSE [] END AS every
  MATCH (t:Theme)
  RETURN t
}
MATCH (t)<-[:HAS_THEME]-(d:Document)
WHERE (t.corpus = $corpus OR $corpus IS NULL AND NOT t.corpus =~ 'eval-.+-[0-9a-f]{8}')
  AND ($theme IS NULL OR toLower(t.name) = toLower($theme))
WITH t, d
ORDER BY d.title, d.id
WITH t, collect(d.title) AS titles
WHERE size(titles) > 1 OR $theme IS NOT NULL
RETURN t.name AS theme, size(titles) AS documents, titles
ORDER BY documents DESC, theme, t.id
LIMIT coalesce($limit, 25)
