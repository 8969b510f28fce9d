// purpose: delete every node with what relationships are left, in batches
// params:
// since: 5.26
MATCH (n)
CALL (n) {
  DETACH DELETE n
} IN TRANSACTIONS OF 10000 ROWS
