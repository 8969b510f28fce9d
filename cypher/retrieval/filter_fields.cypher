// purpose: which properties no document, or chunk, among the first of a corpus has with a value that compares with one of those given
// params: corpus, document, chunk, limit
// since: 5.26
MATCH (:Corpus {name: $corpus})<-[:IN_CORPUS]-(d:Document)
WITH d
LIMIT $limit
OPTIONAL MATCH (d)<-[:FROM_DOCUMENT]-(c:Chunk {index: 0})
WITH collect(d) AS ds, collect(c) AS cs
RETURN size(ds) AS looked,
       [name IN keys($document)
        WHERE none(d IN ds WHERE d[name] IS :: LIST<ANY> NOT NULL
          OR any(v IN $document[name][..100] WHERE (d[name] <= v) IS NOT NULL))] AS document,
       [name IN keys($chunk)
        WHERE none(c IN cs WHERE c[name] IS :: LIST<ANY> NOT NULL
          OR any(v IN $chunk[name][..100] WHERE (c[name] <= v) IS NOT NULL))] AS chunk
