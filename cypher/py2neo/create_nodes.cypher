// purpose: store local nodes, and say which identity each got
// params: rows
// since: 5.26
UNWIND $rows AS row
CREATE (n:$(row.labels))
SET n = row.properties
RETURN collect({index: row.index, identity: elementId(n)}) AS answers
