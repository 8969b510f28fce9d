// purpose: outgoing SIMILAR_TO of some chunks in one scope
// params: scope, ids
// since: 5.26
UNWIND $ids AS id
MATCH (:Chunk {id: id})-[old:SIMILAR_TO {scope: $scope}]->(:Chunk)
DELETE old
