// purpose: themes without a vector of the right length
// params: corpus, dimensions
// since: 5.26
MATCH (n:Theme {corpus: $corpus})
WHERE n.embedding IS NULL OR size(n.embedding) <> $dimensions
RETURN count(n) AS count, collect(n.id)[..5] AS examples
