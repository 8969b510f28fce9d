// purpose: institutions by their yearly budget, and which of them say it
// params:
// since: 5.26
CREATE INDEX custodian_budget IF NOT EXISTS
FOR (n:Custodian)
ON (n.budget)
