// purpose: order of the chunks and sentences of documents that are replaced
// params: ids
// since: 5.26
UNWIND $ids AS id
MATCH (x:Document {id: id})<-[:FROM_DOCUMENT]-(c:Chunk)
USING INDEX SEEK x:Document(id)
OPTIONAL MATCH (c)-[has:HAS_SENTENCE]->(s:Sentence)
OPTIONAL MATCH (c)-[next:NEXT_CHUNK]->()
OPTIONAL MATCH (s)-[after:NEXT_SENTENCE]->()
DELETE has, next, after
