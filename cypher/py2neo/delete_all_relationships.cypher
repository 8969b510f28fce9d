// purpose: delete every relationship, in batches
// params:
// since: 5.26
MATCH ()-[r]->()
CALL (r) {
  DELETE r
} IN TRANSACTIONS OF 10000 ROWS
