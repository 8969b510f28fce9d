// purpose: labels and properties of stored nodes
// params: rows
// since: 5.26
UNWIND $rows AS row
MATCH (n)
WHERE elementId(n) = row.identity
RETURN
  collect({index: row.index, labels: labels(n), properties: properties(n)}) AS answers
