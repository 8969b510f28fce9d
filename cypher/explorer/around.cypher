// purpose: a node of the explorer with its best neighbours, each kind of relationship in turn, by score; and how many it has
// params: node, limit
// since: 5.26
MATCH (n)
WHERE elementId(n) = $node
CALL (n) {
  MATCH (n)-[r]-(o)
  WITH type(r) AS kind, r, o
  ORDER BY coalesce(r.score, r.strength, r.zelo, 0) DESC, coalesce(r.rank, 0), elementId(r)
  WITH kind, collect({r: r, o: o})[..$limit] AS best
  UNWIND range(0, size(best) - 1) AS place
  WITH kind, place, best[place] AS one
  ORDER BY place, kind
  LIMIT $limit
  RETURN collect(one) AS found
}
RETURN n, COUNT { (n)--() } AS total, [one IN found | [one.r, one.o]] AS around
