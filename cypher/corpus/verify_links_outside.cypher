// purpose: documents that link to themselves or out of the corpus
// params: corpus
// since: 5.26
MATCH (:Corpus {name: $corpus})<-[:IN_CORPUS]-(n:Document)-[:LINKS_TO]->(b:Document)
WHERE b = n OR b.corpus <> $corpus
RETURN count(n) AS count, collect(n.id)[..5] AS examples
