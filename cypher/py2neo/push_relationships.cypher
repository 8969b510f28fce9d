// purpose: give stored relationships the properties of local ones
// params: rows
// since: 5.26
UNWIND $rows AS row
MATCH ()-[r]->()
WHERE elementId(r) = row.identity
SET r = row.properties
RETURN collect({index: row.index}) AS answers
