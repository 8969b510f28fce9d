// purpose: chunks without a document
// params: corpus
// since: 5.26
MATCH (n:Chunk {corpus: $corpus})
WHERE NOT EXISTS { (n)-[:FROM_DOCUMENT]->(:Document) }
RETURN count(n) AS count, collect(n.id)[..5] AS examples
