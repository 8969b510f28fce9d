// purpose: wait until indexes can be used
// params: seconds
// since: 5.26
CALL db.awaitIndexes($seconds)
