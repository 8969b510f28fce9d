// purpose: create a relationship of a type between pairs of nodes, found as in pairs_read, and return their corpora
// params: rows, name
// since: 5.26
UNWIND $rows AS row
MATCH (a:`SOURCE` {`BY`: row.a})
MATCH (b:`TARGET` {`TO`: row.b})
CREATE (a)-[r:$($name)]->(b)
SET r = row.properties
WITH a, b
UNWIND [a.corpus, b.corpus] AS corpus
RETURN DISTINCT corpus
