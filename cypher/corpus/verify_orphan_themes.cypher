// purpose: themes without a document
// params: corpus
// since: 5.26
MATCH (n:Theme {corpus: $corpus})
WHERE NOT EXISTS { (n)<-[:HAS_THEME]-(:Document) }
RETURN count(n) AS count, collect(n.id)[..5] AS examples
