// purpose: documents of a corpus with what tells whether a copy of them is still right
// params: corpus
// since: 5.26
MATCH (:Corpus {name: $corpus})<-[:IN_CORPUS]-(d:Document)
OPTIONAL MATCH (d)<-[:FROM_DOCUMENT]-(c:Chunk)
WITH d, count(c) AS chunks, sum(COUNT { (c)-[:SIMILAR_TO]->() }) AS edges
RETURN d.id AS id, coalesce(d.corpusVersion, 0) AS version, chunks, edges
