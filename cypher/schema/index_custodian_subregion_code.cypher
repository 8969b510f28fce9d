// purpose: institutions by the ISO 3166-2 code of their region
// params:
// since: 5.26
CREATE INDEX custodian_subregion_code IF NOT EXISTS
FOR (n:Custodian)
ON (n.subregionCode)
