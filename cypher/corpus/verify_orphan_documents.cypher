// purpose: documents outside their corpus
// params: corpus
// since: 5.26
MATCH (n:Document {corpus: $corpus})
WHERE NOT EXISTS { (n)-[:IN_CORPUS]->(:Corpus {name: $corpus}) }
RETURN count(n) AS count, collect(n.id)[..5] AS examples
