// purpose: institutions by their city
// params:
// since: 5.26
CREATE INDEX custodian_city IF NOT EXISTS
FOR (n:Custodian)
ON (n.city)
