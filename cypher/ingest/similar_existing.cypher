// purpose: outgoing SIMILAR_TO of some chunks in one scope
// params: scope, ids
// since: 5.26
UNWIND $ids AS id
MATCH (x:Chunk {id: id})-[r:SIMILAR_TO {scope: $scope}]->(b:Chunk)
USING INDEX SEEK x:Chunk(id)
WITH id, r.rank AS rank, b.id AS target, r.score AS score
ORDER BY id, rank
RETURN id, collect(target) AS targets, collect(score) AS scores, collect(rank) AS ranks
