// purpose: properties of stored relationships
// params: rows
// since: 5.26
UNWIND $rows AS row
MATCH ()-[r]->()
WHERE elementId(r) = row.identity
RETURN collect({index: row.index, properties: properties(r)}) AS answers
