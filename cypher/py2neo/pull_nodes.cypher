// purpose: labels and properties of stored nodes
// params: rows
// since: 5.26
UNWIND $rows AS row
MATCH (n)
WHERE elementId(n) = row.identity
RETURN row.index AS index, labels(n) AS labels, properties(n) AS properties
