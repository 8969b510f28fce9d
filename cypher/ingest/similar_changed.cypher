// purpose: chunks of changed documents, and those that lost a neighbour
// params: corpus, documents
// since: 5.26
UNWIND $documents AS document
MATCH (d:Document {id: document})<-[:FROM_DOCUMENT]-(c:Chunk)
USING INDEX SEEK d:Document(id)
RETURN c.id AS id
UNION
MATCH (c:Chunk {corpus: $corpus})
WHERE c.similarLost IS NOT NULL
RETURN c.id AS id
