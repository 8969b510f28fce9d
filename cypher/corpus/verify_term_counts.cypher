// purpose: terms whose count of chunks is not that of their edges
// params: corpus, mostLinked, linkedShare
// since: 5.26
MATCH (k:Corpus {name: $corpus})
WHERE k.status = 'complete'
WITH COUNT { (k)<-[:IN_CORPUS]-(:Document)<-[:FROM_DOCUMENT]-(:Chunk) } AS chunks
MATCH (n:Term {corpus: $corpus})
WITH n, COUNT { (n)<-[:NAMES]-(:Chunk) } AS edges,
     n.chunks > $mostLinked AND $linkedShare * n.chunks > chunks AS frequent
WHERE n.chunks < 1 OR edges <> CASE WHEN frequent THEN 0 ELSE n.chunks END
RETURN count(n) AS count, collect(n.name)[..5] AS examples
