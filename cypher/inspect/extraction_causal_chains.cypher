// @title: Strongest chains of causes and effects
// purpose: chains of up to four CAUSES, strongest first by the product of their strengths
// params: corpus, concept, links, limit
// since: 5.26
CALL () {
  UNWIND CASE WHEN $corpus IS NULL THEN [] ELSE [$corpus] END AS name
  MATCH (first:Concept {corpus: name})
  RETURN first
  UNION ALL
  UNWIND CASE WHEN $corpus IS NULL THEN [1] ELSE [] END AS every
  MATCH (first:Concept)
  RETURN first
}
MATCH p = (first)-[r:CAUSES WHERE r.strength > 0]->{1,4}(:Concept)
WHERE
  ($corpus IS NULL OR first.corpus = $corpus)
  AND size(r) >= coalesce($links, 1)
  AND ($concept IS NULL OR any(n IN nodes(p) WHERE toLower(n.name) = toLower($concept)))
  AND all(n IN nodes(p) WHERE single(m IN nodes(p) WHERE m = n))
WITH
  nodes(p) AS concepts,
  r AS edges,
  reduce(product = 1.0, edge IN r | product * edge.strength) AS strength
UNWIND edges AS edge
WITH
  concepts,
  max(strength) AS strength,
  collect(DISTINCT edge.extraction) AS extractions
ORDER BY strength DESC, size(concepts), concepts[0].name, concepts[1].name
LIMIT coalesce($limit, 25)
UNWIND extractions AS id
OPTIONAL MATCH (:Extraction {id: id})-[:EXTRACTED_FROM]->(source)
OPTIONAL MATCH (source)-[:FROM_DOCUMENT]->(d:Document)
WITH concepts, strength, coalesce(d.title, source.query, source.title) AS title
ORDER BY title
WITH concepts, strength, collect(DISTINCT title) AS sources
RETURN
  reduce(
    chain = head(concepts).name, n IN tail(concepts) | chain + ' -> ' + n.name
  ) AS chain,
  size(concepts) - 1 AS links,
  round(strength, 4) AS strength,
  sources
ORDER BY strength DESC, links, chain
