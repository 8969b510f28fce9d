// purpose: which names of properties no document, or chunk, has among the first of a corpus
// params: corpus, documents, chunks, limit
// since: 5.26
MATCH (:Corpus {name: $corpus})<-[:IN_CORPUS]-(d:Document)
WITH d
LIMIT $limit
OPTIONAL MATCH (d)<-[:FROM_DOCUMENT]-(c:Chunk {index: 0})
WITH collect(d) AS ds, collect(c) AS cs
RETURN size(ds) AS looked,
       [name IN $documents WHERE none(d IN ds WHERE d[name] IS NOT NULL)] AS documents,
       [name IN $chunks WHERE none(c IN cs WHERE c[name] IS NOT NULL)] AS chunks
