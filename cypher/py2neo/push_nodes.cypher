// purpose: give stored nodes the labels and properties of local ones, others' labels stay
// params: rows
// since: 5.26
UNWIND $rows AS row
MATCH (n)
WHERE elementId(n) = row.identity
REMOVE n:$(row.gone)
SET n:$(row.labels), n = row.properties
RETURN collect({index: row.index}) AS answers
