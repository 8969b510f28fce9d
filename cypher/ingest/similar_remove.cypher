// purpose: outgoing SIMILAR_TO of some chunks in one scope
// params: scope, ids
// since: 5.26
UNWIND $ids AS id
MATCH (x:Chunk {id: id})-[old:SIMILAR_TO {scope: $scope}]->(:Chunk)
USING INDEX SEEK x:Chunk(id)
DELETE old
