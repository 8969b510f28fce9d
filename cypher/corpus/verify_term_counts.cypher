// purpose: terms whose count of chunks is not that of their edges
// params: corpus
// since: 5.26
MATCH (k:Corpus {name: $corpus})
WITH COUNT { (k)<-[:IN_CORPUS]-(:Document)<-[:FROM_DOCUMENT]-(:Chunk) } AS chunks
MATCH (n:Term {corpus: $corpus})
WITH n, chunks, COUNT { (n)<-[:NAMES]-(:Chunk) } AS edges
WHERE edges <> CASE WHEN n.chunks > 100 AND 20 * n.chunks > chunks THEN 0 ELSE n.chunks END
RETURN count(n) AS count, collect(n.name)[..5] AS examples
