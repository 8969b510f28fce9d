// purpose: the shortest chains between two documents or terms, the strongest of up to 2,000 first; similarities count by their cosine, terms the less the more chunks name them
// params: from, to, limit
// since: 5.26
MATCH (a:Document|Term {id: $from})
MATCH (b:Document|Term {id: $to})
CALL (a, b) {
  MATCH p = allShortestPaths((a)-[:LINKS_TO|MENTIONS|FROM_DOCUMENT|SIMILAR_TO|NAMES|THEME_SIMILAR_TO*..8]-(b))
  RETURN p
  LIMIT 2000
}
WITH
  p,
  reduce(
    strength = 1.0,
    r IN relationships(p) | strength * CASE type(r)
      WHEN 'SIMILAR_TO' THEN r.score
      WHEN 'THEME_SIMILAR_TO' THEN r.score
      WHEN 'NAMES' THEN 1 / (1 + log10(toFloat(coalesce(endNode(r).chunks, 1))))
      ELSE 1
    END
  ) AS strength
ORDER BY strength DESC, [n IN nodes(p) | n.id]
LIMIT $limit
RETURN
  strength,
  [n IN nodes(p) | {
    kind: toLower(labels(n)[0]),
    id: n.id,
    name: coalesce(n.title, n.label),
    text: CASE WHEN n:Chunk THEN n.text END
  }] AS nodes,
  [r IN relationships(p) | type(r)] AS edges
