// purpose: chunks of documents that are replaced or deleted, but for those kept, with judgements about them
// params: ids, kept
// since: 5.26
UNWIND $ids AS id
MATCH (x:Document {id: id})<-[:FROM_DOCUMENT]-(c:Chunk)
USING INDEX SEEK x:Document(id)
WHERE NOT c.id IN $kept
OPTIONAL MATCH (c)<-[:LEFT|RIGHT]-(b:Battle)
DETACH DELETE c, b
