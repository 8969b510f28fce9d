// purpose: chunks that name a term of another corpus, or one twice
// params: corpus
// since: 5.26
MATCH (:Corpus {name: $corpus})<-[:IN_CORPUS]-(:Document)<-[:FROM_DOCUMENT]-(n:Chunk)
WITH n, COLLECT { MATCH (n)-[:NAMES]->(t:Term) RETURN t.corpus + ' ' + t.id } AS terms
WITH n, terms, COUNT { (n)-[:NAMES]->(t:Term) WHERE t.corpus <> $corpus } AS outside
WHERE outside > 0 OR COUNT { MATCH (n)-[:NAMES]->(t:Term) RETURN DISTINCT t } < size(terms)
RETURN count(n) AS count, collect(n.id)[..5] AS examples
