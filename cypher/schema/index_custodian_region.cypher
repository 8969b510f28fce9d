// purpose: institutions by their region
// params:
// since: 5.26
CREATE INDEX custodian_region IF NOT EXISTS
FOR (n:Custodian)
ON (n.region)
