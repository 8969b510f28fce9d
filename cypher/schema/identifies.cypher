// purpose: what extractions name, under a relationship of its own; version 10 of the schema
// params:
// since: 5.26
MATCH (x:Extraction)-[old:NAMES]->(n)
CALL (x, old, n) {
  MERGE (x)-[new:IDENTIFIES]->(n)
  SET new = properties(old)
  DELETE old
} IN TRANSACTIONS OF 1000 ROWS
