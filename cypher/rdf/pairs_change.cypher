// purpose: change the only relationship of a type between pairs of nodes, found as in pairs_read, and return their corpora
// params: rows, name
// since: 5.26
UNWIND $rows AS row
MATCH (a:`SOURCE` {`BY`: row.a})
MATCH (b:`TARGET` {`TO`: row.b})
MATCH (a)-[r]->(b)
WHERE type(r) = $name
SET r += row.properties
WITH a, b
UNWIND [a.corpus, b.corpus] AS corpus
RETURN DISTINCT corpus
