// purpose: MENTIONS of documents' chunks
// params: ids
// since: 5.26
UNWIND $ids AS id
MATCH (x:Document {id: id})<-[:FROM_DOCUMENT]-(:Chunk)-[old:MENTIONS]->(:Document)
USING INDEX SEEK x:Document(id)
DELETE old
