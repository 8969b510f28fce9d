// purpose: institutions by their ghcid
// params:
// since: 5.26
CREATE INDEX custodian_ghcid IF NOT EXISTS
FOR (n:Custodian)
ON (n.ghcid)
