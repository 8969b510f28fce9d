// purpose: institutions by their type
// params:
// since: 5.26
CREATE INDEX custodian_institution_type IF NOT EXISTS
FOR (n:Custodian)
ON (n.institutionType)
