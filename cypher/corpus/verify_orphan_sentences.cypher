// purpose: sentences without a chunk
// params: corpus
// since: 5.26
MATCH (n:Sentence {corpus: $corpus})
WHERE NOT EXISTS { (n)<-[:HAS_SENTENCE]-(:Chunk) }
RETURN count(n) AS count, collect(n.id)[..5] AS examples
