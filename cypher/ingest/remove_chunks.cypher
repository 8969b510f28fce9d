// purpose: chunks of documents that are replaced or deleted, with judgements about them
// params: ids
// since: 5.26
UNWIND $ids AS id
MATCH (x:Document {id: id})<-[:FROM_DOCUMENT]-(c:Chunk)
USING INDEX SEEK x:Document(id)
OPTIONAL MATCH (c)<-[:LEFT|RIGHT]-(b:Battle)
DETACH DELETE c, b
