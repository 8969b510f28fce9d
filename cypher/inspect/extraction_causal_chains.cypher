// @title: Strongest chains of causes and effects
// purpose: chains of up to four CAUSES, strongest first by the product of their strengths
// params: corpus, concept, links, limit
// since: 5.26
MATCH p = (:Concept)-[r:CAUSES]->{1,4}(:Concept)
WHERE
  ($corpus IS NULL OR head(nodes(p)).corpus = $corpus)
  AND size(r) >= coalesce($links, 1)
  AND all(edge IN r WHERE edge.strength > 0)
  AND ($concept IS NULL OR any(n IN nodes(p) WHERE toLower(n.name) = toLower($concept)))
  AND all(n IN nodes(p) WHERE single(m IN nodes(p) WHERE m = n))
WITH
  nodes(p) AS concepts,
  reduce(product = 1.0, edge IN r | product * edge.strength) AS strength,
  [edge IN r | edge.extraction] AS extractions
ORDER BY strength DESC, size(concepts) DESC
WITH concepts, collect([strength, extractions])[0] AS best
UNWIND best[1] AS id
OPTIONAL MATCH (x:Extraction {id: id})-[:EXTRACTED_FROM]->(source)
OPTIONAL MATCH (source)-[:FROM_DOCUMENT]->(d:Document)
WITH concepts, best, coalesce(d.title, source.title) AS title
ORDER BY title
WITH concepts, best, collect(DISTINCT title) AS sources
RETURN
  reduce(
    chain = head(concepts).name, n IN tail(concepts) | chain + ' -> ' + n.name
  ) AS chain,
  size(concepts) - 1 AS links,
  round(best[0], 4) AS strength,
  sources
ORDER BY strength DESC, links DESC, chain
LIMIT coalesce($limit, 25)
