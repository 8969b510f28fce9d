// purpose: chunks of documents that are replaced or deleted
// params: ids
// since: 5.26
UNWIND $ids AS id
MATCH (:Document {id: id})<-[:FROM_DOCUMENT]-(c:Chunk)
DETACH DELETE c
