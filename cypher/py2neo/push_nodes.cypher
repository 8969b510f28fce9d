// purpose: give stored nodes the labels and properties of local ones
// params: rows
// since: 5.26
UNWIND $rows AS row
MATCH (n)
WHERE elementId(n) = row.identity
WITH row, n, [label IN labels(n) WHERE NOT label IN row.labels] AS gone
REMOVE n:$(gone)
SET n:$(row.labels), n = row.properties
RETURN collect({index: row.index}) AS answers
