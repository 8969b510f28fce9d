// purpose: institutions by when they were founded, and which of them say it
// params:
// since: 5.26
CREATE INDEX custodian_founded IF NOT EXISTS
FOR (n:Custodian)
ON (n.founded)
