// @title: What one page does not say
// purpose: gaps and missing context of a document (title or alias) or of a search; of all where none is named
// params: title, corpus, limit
// since: 5.26
CALL () {
  UNWIND CASE WHEN $corpus IS NULL THEN [] ELSE [$corpus] END AS name
  MATCH (x:Extraction {corpus: name})
  RETURN x
  UNION ALL
  UNWIND CASE WHEN $corpus IS NULL THEN [1] ELSE [] END AS every
  MATCH (x:Extraction)
  RETURN x
}
MATCH (x)-[:EXTRACTED_FROM]->(source)
WHERE $corpus IS NULL OR x.corpus = $corpus
OPTIONAL MATCH (source)-[:FROM_DOCUMENT]->(d:Document)
WITH x, coalesce(d, source) AS page
WHERE
  $title IS NULL
  OR toLower(page.title) = toLower($title)
  OR any(alias IN page.aliases WHERE toLower(alias) = toLower($title))
  OR toLower(page.query) = toLower($title)
MATCH (x)-[:LACKS]->(g:Gap)
RETURN DISTINCT
  coalesce(page.title, page.query) AS page,
  g.text AS missing,
  x.missingContext AS missingContext,
  x.variant AS variant,
  x.model AS model,
  g.index AS index
ORDER BY page, variant, model, index, missing
LIMIT coalesce($limit, 25)
