// @title: What sources leave out
// purpose: gaps that extractions found, those of most sources first
// params: corpus, limit
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
MATCH (x)-[:LACKS]->(g:Gap)
WHERE $corpus IS NULL OR x.corpus = $corpus
MATCH (x)-[:EXTRACTED_FROM]->(source)
OPTIONAL MATCH (source)-[:FROM_DOCUMENT]->(d:Document)
WITH toLower(g.text) AS same, g.text AS gap, coalesce(d.title, source.title) AS title
ORDER BY title, gap
WITH same, min(gap) AS gap, collect(DISTINCT title) AS sources
RETURN gap, size(sources) AS count, sources
ORDER BY count DESC, sources[0], gap
LIMIT coalesce($limit, 25)
