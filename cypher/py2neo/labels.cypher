// purpose: labels that the database knows
// params:
// since: 5.26
CALL db.labels() YIELD label
RETURN label AS name
