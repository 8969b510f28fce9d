// purpose: chunks that name a term of another corpus, or one twice
// params: corpus
// since: 5.26
MATCH (:Corpus {name: $corpus})<-[:IN_CORPUS]-(:Document)<-[:FROM_DOCUMENT]-(n:Chunk)-[:NAMES]->(t:Term)
WITH n, count(t) AS edges, count(DISTINCT t) AS terms,
     sum(CASE t.corpus WHEN $corpus THEN 0 ELSE 1 END) AS outside
WHERE outside > 0 OR edges > terms
RETURN count(n) AS count, collect(n.id)[..5] AS examples
