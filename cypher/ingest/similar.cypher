// purpose: store SIMILAR_TO of one scope between chunks given once
// params: scope, nodes, rows
// since: 5.26
UNWIND range(0, size($nodes) - 1) AS i
MATCH (n:Chunk {id: $nodes[i]})
USING INDEX SEEK n:Chunk(id)
WITH i, n
ORDER BY i
WITH collect(n) AS nodes
WHERE size(nodes) = size($nodes)
UNWIND $rows AS row
WITH nodes, row, nodes[row.source] AS a
UNWIND range(0, size(row.targets) - 1) AS position
WITH a, nodes[row.targets[position]] AS b, position, row.scores[position] AS score
CREATE (a)-[:SIMILAR_TO {score: score, rank: position + 1, scope: $scope}]->(b)
