// purpose: institutions by their isil
// params:
// since: 5.26
CREATE INDEX custodian_isil IF NOT EXISTS
FOR (n:Custodian)
ON (n.isil)
