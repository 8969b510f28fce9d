// purpose: institutions by their country
// params:
// since: 5.26
CREATE INDEX custodian_country_code IF NOT EXISTS
FOR (n:Custodian)
ON (n.countryCode)
