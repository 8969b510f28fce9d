// purpose: edges of sentences
// params: corpus
// since: 5.26
MATCH (a:Sentence {corpus: $corpus})-[r:NEXT_SENTENCE]->(b:Sentence)
RETURN type(r) AS type, a.id AS a, b.id AS b, properties(r) AS properties
