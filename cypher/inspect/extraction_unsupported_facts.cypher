// @title: Facts that no sentence of their page supports
// purpose: facts of documents and chunks without SUPPORTED_BY, the surest first
// params: corpus, title, limit
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
MATCH (x)-[:STATES]->(f:Fact)
WHERE
  ($corpus IS NULL OR x.corpus = $corpus)
  AND NOT EXISTS { (f)-[:SUPPORTED_BY]->(:Sentence) }
MATCH (x)-[:EXTRACTED_FROM]->(source:Document|Chunk)
OPTIONAL MATCH (source)-[:FROM_DOCUMENT]->(d:Document)
WITH x, f, coalesce(d.title, source.title) AS page
WHERE $title IS NULL OR toLower(page) = toLower($title)
RETURN
  f.text AS fact,
  f.confidence AS confidence,
  coalesce(f.priority, f.category) AS kind,
  page,
  x.variant AS variant,
  x.model AS model
ORDER BY coalesce(confidence, -1) DESC, page, variant, f.index, f.id
LIMIT coalesce($limit, 25)
