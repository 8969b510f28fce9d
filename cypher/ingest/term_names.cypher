// purpose: store NAMES between chunks and terms, each given once
// params: chunks, terms, rows
// since: 5.26
UNWIND range(0, size($chunks) - 1) AS i
MATCH (c:Chunk {id: $chunks[i]})
USING INDEX SEEK c:Chunk(id)
WITH i, c
ORDER BY i
WITH collect(c) AS chunks
UNWIND range(0, size($terms) - 1) AS i
MATCH (t:Term {id: $terms[i]})
USING INDEX SEEK t:Term(id)
WITH chunks, i, t
ORDER BY i
WITH chunks, collect(t) AS terms
WHERE size(chunks) = size($chunks) AND size(terms) = size($terms)
UNWIND range(0, size($rows) - 1) AS i
WITH terms, chunks[i] AS c, $rows[i] AS row
UNWIND row AS j
WITH c, terms[j] AS t
CREATE (c)-[:NAMES]->(t)
