// purpose: ends of relationships that were returned without them
// params: ids
// since: 5.26
MATCH (n)
WHERE elementId(n) IN $ids
RETURN n
