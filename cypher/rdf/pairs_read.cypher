// purpose: relationships of a type between pairs of nodes of the labels SOURCE and TARGET, found by the properties BY and TO
// params: rows, name
// since: 5.26
UNWIND $rows AS row
MATCH (a:`SOURCE` {`BY`: row.a})
MATCH (b:`TARGET` {`TO`: row.b})
MATCH (a)-[r]->(b)
WHERE type(r) = $name
RETURN row.i AS i, collect(properties(r)) AS held
