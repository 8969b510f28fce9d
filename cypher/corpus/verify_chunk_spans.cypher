// purpose: chunks that begin or end elsewhere than their sentences
// params: corpus
// since: 5.26
MATCH (:Corpus {name: $corpus})<-[:IN_CORPUS]-(d:Document)<-[:FROM_DOCUMENT]-(n:Chunk)
MATCH (n)-[h:HAS_SENTENCE]->(s:Sentence)
WITH n, min(s.startChar) AS first, max(s.endChar) AS last
WHERE first <> n.startChar OR last <> n.endChar
RETURN count(n) AS count, collect(n.id)[..5] AS examples
