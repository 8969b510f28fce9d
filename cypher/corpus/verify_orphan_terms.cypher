// purpose: terms that no chunk names
// params: corpus
// since: 5.26
MATCH (n:Term {corpus: $corpus})
WHERE n.chunks < 1 OR n.chunks <= 100 AND NOT EXISTS { (n)<-[:NAMES]-(:Chunk) }
RETURN count(n) AS count, collect(n.name)[..5] AS examples
