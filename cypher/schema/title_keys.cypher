// purpose: titles that no index could hold, cut; version 12 of the schema
// params:
// since: 5.26
MATCH (d:Document)
WHERE size(d.titleKey) > 500
CALL (d) {
  SET d.titleKey = left(d.titleKey, 500)
} IN TRANSACTIONS OF 1000 ROWS
