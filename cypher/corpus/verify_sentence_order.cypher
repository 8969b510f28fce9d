// purpose: sentences whose successor is not the next one
// params: corpus
// since: 5.26
MATCH (n:Sentence {corpus: $corpus})-[:NEXT_SENTENCE]->(b:Sentence)
WHERE b.index <> n.index + 1 OR b.corpus <> n.corpus
RETURN count(n) AS count, collect(n.id)[..5] AS examples
