// purpose: chunks of documents that are replaced or deleted
// params: ids
// since: 5.26
UNWIND $ids AS id
MATCH (x:Document {id: id})<-[:FROM_DOCUMENT]-(c:Chunk)
USING INDEX SEEK x:Document(id)
DETACH DELETE c
