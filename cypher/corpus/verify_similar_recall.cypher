// purpose: kinds of similarity edges of which an approximate search finds too few
// params: corpus, leastRecall
// since: 5.26
MATCH (k:Corpus {name: $corpus})
UNWIND [k.similarRecall, k.themeSimilarRecall] AS recall
WITH recall WHERE recall < $leastRecall
RETURN count(recall) AS count, collect(toString(recall)) AS examples
